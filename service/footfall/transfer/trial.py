"""A trial of an import: what it would store, of what Redis has now. It changes nothing."""

from itertools import islice

from ..accounts.rules.mails import canonical
from ..accounts.store.accounts import AccountStore
from ..comments.noun import Comments
from ..counting.rules import Counting
from ..data.imports import Imports, Merged, Way
from .report import ImportReport
from .staging import Staging
from .storing import IMPORT_STEP_COMMENTS, MAIL_IS_USED, Offload, account_id, batches_of, digest_of


async def try_out(
    comments: Comments,
    imports: Imports,
    staging: Staging,
    way: Way,
    system: str,
    report: ImportReport,
    apart: Offload,
) -> None:
    """Count in the report what would be stored and what is there. Raises StoreUnavailable."""
    await _accounts(comments.accounts.store, staging, system, report)
    parts = staging.ready(IMPORT_STEP_COMMENTS)
    while part := await apart(lambda: next(parts, [])):
        ids = [row.id for row in part]
        # A deleted one would be restored.
        there = sum(await imports.are_there(ids)) - len(await imports.deleted(ids))
        report.count("comments", "there", there)
        report.count("comments", "stored", len(ids) - there)
    of = await apart(lambda: digest_of(staging)) if way == "sum" else ""
    batches = batches_of(imports, staging)
    while some := await apart(lambda: list(islice(batches, 1))):
        ((number, batch),) = some
        is_added = way == "sum" and await imports.added(batch, of) >= number
        changed = 0 if is_added else await _changed(comments.counting, batch, way)
        report.count("counters", "stored", changed)
        report.count("counters", "there", len(batch) - changed)


async def _accounts(
    accounts: AccountStore, staging: Staging, system: str, report: ImportReport
) -> None:
    mails = set[str]()
    for row in staging.accounts():
        mail = canonical(row.mail)
        if await accounts.by_id(account_id(system, row)):
            report.count("accounts", "there")
        elif mail in mails or await accounts.by_mail(mail):
            report.change("accounts", row.source, MAIL_IS_USED)
        else:
            report.count("accounts", "stored")
        mails.add(mail)


async def _changed(counting: Counting, batch: list[Merged], way: Way) -> int:
    here = await counting.counters.read([name for _, name, _ in batch])
    there = [count for _, _, count in batch]
    match way:
        case "max":
            return sum(count > own for count, own in zip(there, here, strict=True))
        case "replace":
            return sum(count != own for count, own in zip(there, here, strict=True))
    return sum(count > 0 for count in there)
