"""A stand-in for the Hugging Face Hub: the few endpoints that upload and download of models need, over real HTTP."""

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import Response


class FakeHub:
    """Repositories in memory: every commit is a copy of all files, and `main` is the newest."""

    def __init__(self) -> None:
        self.commits: dict[str, dict[str, dict[str, bytes]]] = {}
        self.requests: list[str] = []
        self.private: dict[str, bool] = {}
        self.address = ""

    def files(self, repository: str, revision: str) -> tuple[str, dict[str, bytes]]:
        """Return commit and files of a revision."""
        commits = self.commits.get(repository)
        if commits is None:
            raise HTTPException(404, headers={"X-Error-Code": "RepoNotFound"})
        commit = list(commits)[-1] if revision == "main" else revision
        if commit not in commits:
            raise HTTPException(404, headers={"X-Error-Code": "RevisionNotFound"})
        return commit, commits[commit]

    def commit(self, repository: str, lines: list[dict[str, Any]]) -> str:
        """Store a commit of added and deleted files and return its id."""
        commits = self.commits[repository]
        files = dict(list(commits.values())[-1])
        for line in lines:
            path = line["value"].get("path", "")
            if line["key"] == "file":
                files[path] = base64.b64decode(line["value"]["content"])
            elif line["key"] == "deletedFile":
                del files[path]
        name = hashlib.sha1(f"{repository} {len(commits)}".encode(), usedforsecurity=False).hexdigest()
        commits[name] = files
        return name

    def app(self) -> FastAPI:
        """Return the server."""
        app = FastAPI()

        @app.middleware("http")
        async def record(request: Request, call_next: Any) -> Any:
            self.requests.append(f"{request.method} {request.url.path}")
            return await call_next(request)

        @app.head("/")
        def root() -> Response:
            return Response()

        @app.post("/api/repos/create")
        async def create(request: Request) -> dict[str, str]:
            body = await request.json()
            repository = f"{body['organization']}/{body['name']}"
            self.commits.setdefault(repository, {"0" * 40: {}})
            self.private.setdefault(repository, body.get("private") or body.get("visibility") == "private")
            return {"url": f"{self.address}/{repository}", "id": repository, "name": repository}

        @app.post("/api/models/{owner}/{name}/preupload/{revision}")
        async def preupload(request: Request) -> dict[str, Any]:
            files = (await request.json())["files"]
            return {"files": [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in files]}

        @app.post("/api/validate-yaml")
        def validate() -> dict[str, list[str]]:
            return {"errors": [], "warnings": []}

        @app.post("/api/models/{owner}/{name}/commit/{revision}")
        async def commit(owner: str, name: str, request: Request) -> dict[str, str]:
            lines = [json.loads(line) for line in (await request.body()).splitlines()]
            oid = self.commit(f"{owner}/{name}", lines)
            return {"commitUrl": f"{self.address}/{owner}/{name}/commit/{oid}", "commitOid": oid}

        @app.get("/api/models/{owner}/{name}/revision/{revision}")
        @app.get("/api/models/{owner}/{name}")
        def info(owner: str, name: str, revision: str = "main") -> dict[str, Any]:
            oid, files = self.files(f"{owner}/{name}", revision)
            return {"id": f"{owner}/{name}", "sha": oid, "siblings": [{"rfilename": path} for path in files]}

        @app.get("/api/models/{owner}/{name}/tree/{revision}")
        def tree(owner: str, name: str, revision: str) -> list[dict[str, Any]]:
            _, files = self.files(f"{owner}/{name}", revision)
            return [
                {"type": "file", "path": path, "size": len(data), "oid": _etag(data)} for path, data in files.items()
            ]

        @app.api_route("/{owner}/{name}/resolve/{revision}/{path:path}", methods=["GET", "HEAD"])
        def file(owner: str, name: str, revision: str, path: str) -> Response:
            oid, files = self.files(f"{owner}/{name}", revision)
            if path not in files:
                raise HTTPException(404, headers={"X-Error-Code": "EntryNotFound"})
            headers = {"ETag": f'"{_etag(files[path])}"', "X-Repo-Commit": oid}
            return Response(files[path], media_type="application/octet-stream", headers=headers)

        return app


def _etag(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


@contextmanager
def running_fake_hub() -> Iterator[FakeHub]:
    """Yield a fake hub that listens on a free port."""
    hub = FakeHub()
    server = uvicorn.Server(uvicorn.Config(hub.app(), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    hub.address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    yield hub
    server.should_exit = True
    thread.join()


def run_with_hub(endpoint: str, cache: Path, code: str, *arguments: str, offline: bool = False) -> str:
    """Run Python code in a process whose Hub and cache are given, and return what it prints."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("HF_")},
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(cache),
        "HF_HUB_OFFLINE": str(int(offline)),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_TOKEN": "fake",
    }
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
