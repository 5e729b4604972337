"""What is said of a file that is not UTF-8."""

from pathlib import Path

import pytest

from footfall.transfer.encodings import MAX_SAMPLE_BYTES
from footfall.transfer.source import Damaged, Source

CHINESE = "这篇文章写得很好，谢谢分享。请问如何安装？学习了"
TRADITIONAL = "這篇文章寫得很好，謝謝分享。請問如何安裝？學習了"
JAPANESE = "とても良い記事です。ありがとうございます。東京の天気"
KOREAN = "정말 좋은 글입니다. 감사합니다. 질문이 있어요"
RUSSIAN = "Очень хорошая статья, спасибо большое! Вопрос: как это сделать?"


@pytest.mark.parametrize(
    ("encoding", "text", "suggested"),
    [
        ("gbk", CHINESE, "gb18030"),
        ("gb18030", CHINESE, "gb18030"),
        ("big5", TRADITIONAL, "big5"),
        ("shift_jis", JAPANESE, "shift_jis"),
        ("euc_jp", JAPANESE, "euc_jp"),
        ("euc_kr", KOREAN, "euc_kr"),
        ("cp1251", RUSSIAN, "cp1251"),
        ("koi8_r", RUSSIAN, "koi8_r"),
        ("cp1252", "J’ai déjà essayé, ça marche. Où est le lien ?", "cp1252"),
        ("latin-1", "Très bien écrit, merci à tous, déjà essayé", "cp1252"),
        ("latin-1", "Perché non è più così, però la città è più bella", "cp1252"),
        ("cp1252", "Größe über Straßen, schöne Grüße aus Köln", "cp1252"),
        ("latin-1", "não é possível, informação e coração", "cp1252"),
        ("latin-1", "Åsa och Örjan är på väg, så där", "cp1252"),
        ("cp1252", "¿Cómo está, señor? Qué mañana más fría", "cp1252"),
    ],
)
def test_the_encoding_of_a_file_is_suggested_with_a_line_as_it_would_be_read(
    encoding: str, text: str, suggested: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    for lines in (1, 200):
        path.write_bytes("".join(["url,comment\n", f"/a,{text}\n" * lines]).encode(encoding))
        with pytest.raises(Damaged) as refused:
            list(Source(path).chunks())
        said = str(refused.value)
        assert said.startswith("it is not UTF-8, first at byte ")
        assert f" in line 2: name its encoding. With {suggested} that is: /a,{text}" in said


def test_the_end_of_what_is_looked_at_may_be_within_a_character(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    for shift in range(2):
        path.write_bytes(b"a" * shift + f"{CHINESE} ".encode("gbk") * (MAX_SAMPLE_BYTES // 8))
        with pytest.raises(Damaged, match="With gb18030"):
            list(Source(path).chunks())


@pytest.mark.parametrize("content", [b"a\xffb", b"\x80\x81\x8d\x8f\x90 \x9d\x81\x8d\x8f"])
def test_nothing_is_suggested_where_nothing_fits(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(content)
    with pytest.raises(Damaged) as refused:
        list(Source(path).chunks())
    assert str(refused.value).endswith("in line 1: name its encoding")
