"""Inviting people from the owner's pages."""

from dataclasses import dataclass
from typing import cast

from ...http.params import MAX_NICK, RawRequest
from ...markup import shown_name
from ...model import Caller, Role
from ...table.answers import JsonObject
from ...table.context import ParseContext
from ...table.fields import Choice, Fields, FieldValues
from ...table.names import Name
from ...table.prefixes import UI
from ...table.rows import Declared
from ...table.schemas import FLAG, TEXT, AnswerSchema, object_of
from ...table.who import ADMINISTRATOR
from ..noun import Accounts
from ..rules import invitations, reauthentication
from ..rules.reauthentication import OwnerProof
from .accounts import NEEDED_MAIL
from .session import PROOF, proof_of

operation = Declared[Accounts]("accounts", UI)

# Inviting moderators and administrators needs proof of identity.
_ROLES = ("guest", "moderator", "administrator")


@dataclass(frozen=True, slots=True)
class Invitation:
    mail: str
    nick: str
    role: Role
    proof: OwnerProof

    @classmethod
    def of(cls, values: FieldValues, request: RawRequest, context: ParseContext) -> "Invitation":
        mail = values["email"]
        nick = (values["display_name"] or shown_name(mail.partition("@")[0]))[:MAX_NICK]
        return cls(mail, nick, cast(Role, values["type"]), proof_of(values))


INVITATION = Fields(
    Invitation.of,
    (
        NEEDED_MAIL,
        Name("display_name", "The name; without, the first part of the email"),
        Choice("type", "The role", "guest", _ROLES),
        *PROOF,
    ),
)


@operation(
    "user_invite",
    "POST",
    "/invitation",
    INVITATION,
    ADMINISTRATOR,
    AnswerSchema(object_of(link=TEXT, type=TEXT, isMailed=FLAG)),
)
async def invite(accounts: Accounts, parsed: Invitation, caller: Caller) -> JsonObject:
    """Raises UserExists, TooManyAttempts, Busy, and the errors of a proof."""
    accounts = accounts
    if parsed.role != "guest":
        await reauthentication.require(accounts, parsed.proof, caller)
    account, link = await invitations.invite(
        accounts, parsed.mail, parsed.nick, parsed.role, caller
    )
    assert caller.viewer.account is not None
    inviter = caller.viewer.account.id
    await accounts.log.add(by=inviter, did="invite", id=account.id, was="", now=account.role)
    return {"link": link, "type": account.role, "isMailed": accounts.mails.are_sent}
