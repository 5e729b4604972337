"""The bodies of answers in both layouts.

The layout under /api wraps every answer in {errno, errmsg, data}. The older one, without prefix,
sends reads and counter changes bare, in shapes of its own; errors and the answer to a new comment
are wrapped there, too.
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
    """`language` is a client's `lang` in lower case; an unknown one gets English."""
    errmsg: Any = error.errmsg
    if isinstance(errmsg, str):
        texts = TEXTS.get(errmsg, {})
        language = ALIASES.get(language, language)
        errmsg = texts.get(language) or texts.get(language.partition("-")[0], errmsg)
        if error.values:
            errmsg = errmsg.format_map(error.values)
    return orjson.dumps({"errno": error.errno, "errmsg": errmsg})


# Browsers' names of languages -> the names that Waline's clients and TEXTS use.
ALIASES = {"ja": "jp", "ja-jp": "jp", "zh-hk": "zh-tw", "zh-mo": "zh-tw", "zh-hant": "zh-tw"}

# English text -> language -> text. Clients show them to readers below the comment form.
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
    # The reference server's own texts.
    "Duplicate Content": {
        "zh": "发送的内容之前已经发过",
        "zh-tw": "發送的內容之前已經發過",
        "de": "Doppelter Inhalt gesendet",
        "fr": "Contenu dupliqué envoyé",
        "it": "Contenuto duplicato",
        "jp": "重複した内容が送信されました",
        "ko": "중복된 내용",
        "pt": "Conteúdo duplicado enviado",
        "ru": "Дублированное содержание",
        "vi": "Nội dung trùng lặp đã được gửi",
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
    "Service Unavailable": {
        "zh": "服务暂时不可用，请稍后再试",
        "zh-tw": "服務暫時無法使用，請稍後再試",
        "de": "Das geht gerade nicht, bitte gleich noch einmal versuchen",
        "fr": "Service indisponible, veuillez réessayer dans un instant",
        "it": "Servizio non disponibile, riprova tra poco",
        "jp": "現在ご利用いただけません。しばらくしてからもう一度お試しください",
        "ko": "지금은 이용할 수 없습니다. 잠시 후 다시 시도해 주세요",
        "pt": "Serviço indisponível, tente novamente em instantes",
        "ru": "Сервис недоступен, попробуйте ещё раз чуть позже",
        "vi": "Dịch vụ tạm thời không khả dụng, vui lòng thử lại sau",
    },
}
