"""Defects that the service once had: does a test still find each of them?

`.venv/bin/python -m tests.defects` puts them back one by one, each into a copy of the checkout, and
runs the test that should fail then. It shows what a change of the tests has lost.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = ("bench", "deploy", "docs", "lua", "pyproject.toml", "service", "tests")


@dataclass(frozen=True)
class Defect:
    """`right` stands once in the file, with `wrong` in its place the defect is back; `test` is the
    file and the name of a test that fails then."""

    what: str
    file: str
    right: str
    wrong: str
    test: str


DEFECTS = (
    Defect(
        "what led to the site on a day before some without a service is lost",
        "service/footfall/statistics/keeper.py",
        "if self._kept_until else DAYS_OF_SHARES",
        "if not self._kept_until else DAYS_OF_SHARES",
        "tests/scripts/test_sources_of_views.py::lists_of_a_day_outlive_a_week_without_a_service",
    ),
    Defect(
        "visitors of a day are known longer than the day",
        "service/footfall/statistics/visits.py",
        "the first of its visitors.\n        self._moment = moment",
        "the first of its visitors.",
        "tests/scripts/test_visitors.py::who_comes_late_is_known_to_the_site_no_longer_than",
    ),
    Defect(
        "strangers' sources take memory that nobody reckons with",
        "service/footfall/counting/packed.py",
        "return packed + names + each + page + origin",
        "return packed + names + each + page",
        "tests/unit/test_batch.py::the_memory_of_a_change_has_its_source",
    ),
    Defect(
        "names of emoji take four times the memory that they may",
        "service/footfall/driver/reads.py",
        "if getsizeof(name) <= MAX_KEPT_NAME_BYTES:",
        "if len(name) <= MAX_KEPT_NAME_BYTES:",
        "tests/unit/test_batch.py::names_are_cached_by_the_memory_that_they_take",
    ),
    Defect(
        "without the right to sketches visitors are counted again",
        "lua/includes/sketch.lua",
        "local numbers = may and redis.pcall('SMEMBERS', index)",
        "local numbers = redis.pcall('SMEMBERS', index)",
        "tests/integration/test_rights.py::without_the_right_to_sketches",
    ),
    Defect(
        "a date with fifty digits ends an import",
        "service/footfall/transfer/values.py",
        "except (ValueError, ArithmeticError, UnknownTimezoneWarning):",
        "except (ValueError, OverflowError, UnknownTimezoneWarning):",
        "tests/unit/test_import_values.py::what_could_be_several_dates_is_none",
    ),
    Defect(
        "a user's name in brackets is taken for the time of a log's line",
        "service/footfall/transfer/access_log.py",
        r"(\S{1,255}) [^\"]{0,255}\[(",
        r"(\S{1,255}) [^\[\"]{0,255}+\[(",
        "tests/unit/test_log_rows.py::a_line_becomes_a_row",
    ),
    Defect(
        "a malformed URL whose body comes later resets the connection",
        "service/footfall/http/protocol.py",
        "elif not has_path(self.url):",
        "elif False:",
        "tests/integration/test_fast_path.py::a_malformed_url_is_refused_wherever",
    ),
    Defect(
        "what began before the quota was read is counted twice",
        "service/footfall/counting/quota.py",
        "self._most = started + self._limit - taken",
        "self._most = self._limit - taken",
        "tests/unit/test_size.py::what_started_before_two_readings_at_once",
    ),
    Defect(
        "a command waits behind one that has longer",
        "service/footfall/driver/connection.py",
        "                dues.append(pending.deadline)\n            elif",
        "                dues.append(pending.deadline)\n                break\n            elif",
        "tests/integration/test_deadlines.py::a_command_fails_at_its_deadline_also_behind",
    ),
    Defect(
        "a quick backup removes the part of a slow one",
        "service/footfall/cli/backup.py",
        "if name in parts and _is_being_written(file):",
        "if False:",
        "tests/integration/test_backup_command.py::a_slow_backup_is_not_removed_by_a_quick_one",
    ),
    Defect(
        "a click on a log-in page whose script is not there yet is lost",
        "service/footfall/ui/admin/login.html",
        '<button type="submit" disabled>Log in</button>',
        '<button type="submit">Log in</button>',
        "tests/browser/test_clients.py::a_log_in_waits_for_the_script_of_its_page",
    ),
    Defect(
        "a start on a full disk is a traceback",
        "service/footfall/driver/private_server.py",
        'with os.fdopen(opened, "r+b", buffering=0) as file:',
        'with os.fdopen(opened, "r+b") as file:',
        "tests/integration/test_private_server.py::a_first_start_on_a_full_disk_says_so",
    ),
    Defect(
        "a refusal takes the time of a wait that it does not say",
        "service/footfall/http/translations.py",
        ' if f"{{{key}}}" in form}',
        "}",
        "tests/unit/test_translations.py::a_wait_that_is_not_said_is_not_made",
    ),
    Defect(
        "a stranger's header of a token is an error of ours",
        "service/footfall/accounts/rules/tokens.py",
        'if token.partition(".")[0] != _first_part():',
        "if False:",
        "tests/attacks/test_accounts.py::a_token_with_another_name_in_it",
    ),
    Defect(
        "settings of a protocol that is not spoken are taken in silence",
        "service/footfall/advice.py",
        "    yield from _of_a_protocol_that_is_not_spoken(settings)\n",
        "",
        "tests/unit/test_advice.py::a_setting_that_another_one_overrules_is_named",
    ),
    Defect(
        "the version of the list of bans is somebody's ban",
        "service/footfall/accounts/store/bans.py",
        "if reply and value != VERSION else None",
        "if reply else None",
        "tests/web/test_bans.py::the_version_of_the_list_is_nobodys_ban",
    ),
    Defect(
        "the picture that a new mail makes is not seen on pages",
        "service/footfall/accounts/rules/changes.py",
        '    return replace(account, mail="", avatar=avatar)',
        '    return replace(account, mail="")',
        "tests/web/test_refresh.py::the_picture_of_a_new_mail_is_seen_on_every_page",
    ),
    Defect(
        "the page about the API shows nothing, as a tag is not named",
        "service/footfall/owner/description.py",
        '    "pages": "Titles of pages, and moving and closing them",\n',
        "",
        "tests/web/test_description.py::every_operation_has_a_tag_that_the_description_names",
    ),
    Defect(
        "an import of past views that was interrupted goes on with other files",
        "service/footfall/transfer/view_import.py",
        "if day in days and days[day].id != id:",
        "if day in days and False:",
        "tests/integration/test_import_past_views.py::an_import_that_was_broken_off_takes_no_other",
    ),
    Defect(
        "a text that nobody has read is approved",
        "lua/includes/gate.lua",
        "and (seen == '' or seen == body)",
        "",
        "tests/scripts/test_moderation.py::a_comment_is_decided_on_only_as_it_was_read",
    ),
    Defect(
        "a deletion does not see what was approved in this moment",
        "lua/comments/delete.lua",
        "if begins == '1' and not is_as_read(id, was, body) then",
        "if false then",
        "tests/web/test_decisions.py::of_two_decisions_at_the_same_moment_one_is_told_changed",
    ),
    Defect(
        "a verdict of a spam filter about an older text publishes the new one",
        "service/footfall/comments/rules/spam_check.py",
        "        return [replace(task, attempts=0)]",
        "        return ()",
        "tests/web/test_spam_checkers.py::a_verdict_is_about_the_text_that_was_sent",
    ),
    Defect(
        "what has failed and was done all the same is taken for somebody else's",
        "service/footfall/comments/rules/orders.py",
        "if last.actor.action == self._name}",
        "if False}",
        "tests/web/test_decisions.py::what_became_of_a_change_without_a_reply_is_found_out",
    ),
)


def is_found(defect: Defect, words: Sequence[str] = ()) -> bool:
    """Whether its test fails with the defect in place; the copy has this checkout's data."""
    with tempfile.TemporaryDirectory(prefix="ff") as name:
        home = Path(name)
        for each in COPIED:
            there, copy = ROOT / each, home / each
            shutil.copytree(there, copy) if there.is_dir() else shutil.copy(there, copy)
        file = home / defect.file
        file.write_text(file.read_text().replace(defect.right, defect.wrong))
        path, _, test = defect.test.partition("::")
        command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *words]
        environ = {**os.environ, "TEST_ALL": "1"}
        done = subprocess.run(
            [*command, path, "-k", test], cwd=home, env=environ, capture_output=True, text=True
        )
        # 1: some test failed. Anything else tells nothing.
        assert done.returncode in (0, 1), done.stdout + done.stderr
        return done.returncode == 1


def main() -> None:
    lost = 0
    for defect in DEFECTS:
        found = is_found(defect)
        lost += not found
        print("found" if found else "LOST ", defect.what, f"({defect.test})", flush=True)
    sys.exit(bool(lost))


if __name__ == "__main__":
    main()
