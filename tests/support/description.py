"""Compares answers with /openapi.json: the status has to be described, and the body to fit."""

import json
import re
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

import httpx
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from footfall import routes
from footfall.owner.description import described
from footfall.site import Site


class Described:
    """A description, which an HTTP client compares with each answer that it gets.

    What is described of answers is the same at each site, so it is compiled once.
    """

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._components = description["components"]
        # A path that is described as it is comes before one with an id that has the same form.
        self._paths = {
            re.compile(re.sub(r"\{\w+\}", ".+", path.replace("{id}", "[^/]+"))): methods
            for path, methods in sorted(
                description["paths"].items(), key=lambda each: "{" in each[0]
            )
        }
        self._validators = cache(self._compiled)
        self.compared = 0

    async def __call__(self, response: httpx.Response) -> None:
        request = response.request
        if "content-length" not in response.headers and response.status_code == 200:
            # Its length was not known: the test reads it in pieces.
            return
        pattern = next((path for path in self._paths if path.fullmatch(request.url.path)), None)
        if pattern and request.method.lower() in self._paths[pattern]:
            await response.aread()
            self.compare(pattern, request.method.lower(), response)

    def compare(self, pattern: re.Pattern[str], method: str, response: httpx.Response) -> None:
        """Raises AssertionError."""
        told = f"{method} {pattern.pattern} {response.status_code}: {response.text[:500]}"
        documented = self._paths[pattern][method]["responses"]
        assert str(response.status_code) in documented, told
        validators = self._validators(pattern, method, str(response.status_code))
        self.compared += 1
        if not validators:
            return
        media = response.headers["content-type"].partition(";")[0]
        assert media in validators, f"{told}: {media}"
        body = json.loads(response.text) if media == "application/json" else response.text
        wrong = best_match(validators[media].iter_errors(body))
        assert wrong is None, f"{told}: {wrong.json_path}: {wrong.message[:200]}"

    def _compiled(
        self, pattern: re.Pattern[str], method: str, status: str
    ) -> Mapping[str, Draft202012Validator]:
        """Media type -> what compares a body of it."""
        found = self._paths[pattern][method]["responses"][status]
        if name := found.get("$ref", "").rpartition("/")[2]:
            found = self._components["responses"][name]
        return {
            media: Draft202012Validator({**content["schema"], "components": self._components})
            for media, content in found.get("content", {}).items()
        }


_made = list[tuple[object, Collection[str], Described]]()


def description_of(site: Site) -> Described:
    """The description of the operations that there are, made of the first site that has them."""
    for table, compat, made in _made:
        if table is routes.TABLE and compat == site.settings.compat:
            return made
    operations = routes.operations(site.settings.compat)
    made = Described(json.loads(json.dumps(described(site.served.context, operations, "0"))))
    _made.append((routes.TABLE, site.settings.compat, made))
    return made
