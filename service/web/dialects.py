"""How the two layouts say yes and no.

The layout under /api wraps every answer in {errno, errmsg, data}. The older one, without prefix,
sends the bare value for reads and counter changes, in shapes of its own; its errors are wrapped all
the same, and so is the answer to a new comment.
"""

from typing import Any

import orjson

from ..errors import ServiceError


def enveloped(data: object) -> bytes:
    return envelope(orjson.dumps(data))


def envelope(json: bytes) -> bytes:
    return b'{"errno":0,"errmsg":"","data":%b}' % json


def bare(data: object) -> bytes:
    return orjson.dumps(data)


def failed(error: ServiceError, language: str) -> bytes:
    errmsg: Any = error.errmsg
    if isinstance(errmsg, str):
        texts = TEXTS.get(errmsg, {})
        errmsg = texts.get(language) or texts.get(language.partition("-")[0], errmsg)
        if error.values:
            errmsg = errmsg.format_map(error.values)
    return orjson.dumps({"errno": error.errno, "errmsg": errmsg})


# English text -> language -> text. Readers see these under the form they have just filled in.
TEXTS = {
    "Your comment is too long: it may have {limit} characters": {
        "zh": "评论太长，最多 {limit} 个字符",
        "zh-tw": "留言太長，最多 {limit} 個字元",
        "de": "Der Kommentar ist zu lang: {limit} Zeichen sind erlaubt",
        "fr": "Le commentaire est trop long : {limit} caractères sont permis",
        "it": "Il commento è troppo lungo: sono permessi {limit} caratteri",
        "jp": "コメントが長すぎます（{limit} 文字まで）",
        "ko": "댓글이 너무 깁니다. {limit}자까지 쓸 수 있습니다",
        "pt": "O comentário é longo demais: são permitidos {limit} caracteres",
        "ru": "Комментарий слишком длинный: допускается знаков — {limit}",
        "vi": "Bình luận quá dài: tối đa {limit} ký tự",
    },
    "Duplicate Content": {
        "zh": "请不要重复发表相同的内容",
        "zh-tw": "請不要重複發表相同的內容",
        "de": "Diesen Kommentar gibt es schon",
        "fr": "Ce commentaire existe déjà",
        "it": "Questo commento esiste già",
        "jp": "同じ内容がすでに投稿されています",
        "ko": "같은 내용의 댓글이 이미 있습니다",
        "pt": "Este comentário já existe",
        "ru": "Такой комментарий уже есть",
        "vi": "Bình luận này đã có rồi",
    },
    "The comment that this one replies to is not there": {
        "zh": "您回复的评论不存在",
        "zh-tw": "您回覆的評論不存在",
        "de": "Der Kommentar, auf den dies antwortet, ist nicht da",
        "fr": "Le commentaire auquel celui-ci répond n'existe pas",
        "it": "Il commento a cui si risponde non esiste",
        "jp": "返信先のコメントが見つかりません",
        "ko": "답글을 달 댓글을 찾을 수 없습니다",
        "pt": "O comentário a que este responde não existe",
        "ru": "Комментарий, на который вы отвечаете, не найден",
        "vi": "Không tìm thấy bình luận được trả lời",
    },
}
