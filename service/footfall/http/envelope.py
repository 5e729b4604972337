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
    if not error.has_words:
        return orjson.dumps({"errno": error.errno})
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
    "It could not be proved that you are no robot: reload the page and try again": {
        "zh": "未能通过人机验证，请刷新页面后重试",
        "zh-tw": "未能通過人機驗證，請重新整理頁面後再試",
        "de": "Es ließ sich nicht zeigen, dass Sie kein Roboter sind: Seite neu laden und nochmals",
        "fr": "Impossible de vérifier que vous n'êtes pas un robot : rechargez la page",
        "it": "Non è stato possibile verificare che non sei un robot: ricarica la pagina e riprova",
        "jp": "ロボットでないことを確認できませんでした。ページを再読み込みしてください",
        "ko": "로봇이 아님을 확인하지 못했습니다. 페이지를 새로 고친 뒤 다시 시도하세요",
        "pt": "Não foi possível provar que você não é um robô: recarregue a página e tente de novo",
        "ru": "Не удалось убедиться, что вы не робот: обновите страницу и попробуйте снова",
        "vi": "Không xác minh được bạn không phải rô-bốt: hãy tải lại trang và thử lại",
    },
    "USER_EXIST": {
        "zh": "用户已存在",
        "zh-tw": "用戶已存在",
        "de": "Benutzer existiert bereits",
        "fr": "L'utilisateur existe déjà",
        "it": "Utente già registrato",
        "jp": "ユーザーは既に存在します",
        "ko": "이미 등록된 사용자입니다",
        "pt": "Usuário já existe",
        "ru": "Пользователь уже существует",
        "vi": "Người dùng đã tồn tại",
    },
    "TOKEN_EXPIRED": {
        "zh": "链接已失效",
        "zh-tw": "連結已失效",
        "de": "Der Link gilt nicht mehr",
        "fr": "Le lien n'est plus valable",
        "it": "Il link non è più valido",
        "jp": "リンクの有効期限が切れています",
        "ko": "링크가 만료되었습니다",
        "pt": "O link não é mais válido",
        "ru": "Ссылка больше не действует",
        "vi": "Liên kết đã hết hạn",
    },
    "TWO_FACTOR_AUTH_ERROR_DETAIL": {
        "zh": "两步验证码不正确",
        "zh-tw": "兩步驟驗證碼不正確",
        "de": "Der Code stimmt nicht",
        "fr": "Le code est incorrect",
        "it": "Il codice non è corretto",
        "jp": "認証コードが正しくありません",
        "ko": "인증 코드가 올바르지 않습니다",
        "pt": "O código está incorreto",
        "ru": "Неверный код",
        "vi": "Mã không đúng",
    },
    "You can not write here any more": {
        "zh": "您已被禁止在此发言",
        "zh-tw": "您已被禁止在此發言",
        "de": "Sie können hier nicht mehr schreiben",
        "fr": "Vous ne pouvez plus écrire ici",
        "it": "Non puoi più scrivere qui",
        "jp": "ここに書き込むことはできません",
        "ko": "이곳에 더 이상 글을 쓸 수 없습니다",
        "pt": "Você não pode mais escrever aqui",
        "ru": "Вы больше не можете здесь писать",
        "vi": "Bạn không thể viết ở đây nữa",
    },
    "You can not write here until {until}": {
        "zh": "{until} 之前您不能在此发言",
        "zh-tw": "{until} 之前您不能在此發言",
        "de": "Sie können hier erst ab {until} wieder schreiben",
        "fr": "Vous ne pouvez pas écrire ici avant le {until}",
        "it": "Non puoi scrivere qui fino al {until}",
        "jp": "{until} まで書き込むことはできません",
        "ko": "{until}까지 이곳에 글을 쓸 수 없습니다",
        "pt": "Você não pode escrever aqui até {until}",
        "ru": "Вы не можете писать здесь до {until}",
        "vi": "Bạn không thể viết ở đây cho đến {until}",
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
