"""A loopback server that answers openml's requests for a data set as OpenML does.

It lists the requests, and it can produce faults.
"""

from __future__ import annotations

import hashlib
import io
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

_OPEN = 'xmlns:oml="http://openml.org/openml"'


@dataclass(frozen=True)
class ServedSet:
    """A data set of the server.

    `nominal` maps columns to their categories. `md5` replaces the right checksum in the
    description. With `parquet` the set is announced and served in that format too.
    """

    number: int
    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence]
    ignored: Sequence[str] = ()
    nominal: Mapping[str, Sequence[str]] = field(default_factory=dict)
    md5: str | None = None
    parquet: bool = False

    @cached_property
    def arff(self) -> str:
        lines = [f"@RELATION {self.name}"]
        for column in self.columns:
            categories = ",".join(self.nominal.get(column, ()))
            kind = f"{{{categories}}}" if categories else "REAL"
            lines.append(f"@ATTRIBUTE '{column}' {kind}")
        lines += ["@DATA", *(",".join(map(str, row)) for row in self.rows)]
        return "\n".join(lines) + "\n"

    def parquet_bytes(self) -> bytes:
        import pandas as pd

        buffer = io.BytesIO()
        frame = pd.DataFrame(self.rows, columns=pd.Index(self.columns))
        kinds = {c: "category" if c in self.nominal else "float64" for c in self.columns}
        frame.astype(kinds).to_parquet(buffer)
        return buffer.getvalue()

    def description(self, base: str) -> str:
        tags = [
            *[("id", self.number), ("name", self.name), ("version", 1), ("format", "ARFF")],
            *[("licence", "Public"), ("url", base + self.arff_path)],
            *([("parquet_url", base + self.parquet_path)] if self.parquet else []),
            *[("ignore_attribute", column) for column in self.ignored],
            ("md5_checksum", self.md5 or hashlib.md5(self.arff.encode()).hexdigest()),
        ]
        body = "\n".join(f"<oml:{tag}>{escape(str(value))}</oml:{tag}>" for tag, value in tags)
        return f"<oml:data_set_description {_OPEN}>\n{body}\n</oml:data_set_description>\n"

    @property
    def arff_path(self) -> str:
        return f"/data/v1/download/{self.number}/{self.name}.arff"

    @property
    def parquet_path(self) -> str:
        return f"/datasets/0000/{self.number:04d}/dataset_{self.number}.pq"


@dataclass(frozen=True)
class Fault:
    """A wrong answer to requests that match `pattern`.

    The kind is "answer" (`status` and `body` replace the right answer), "drop" (the server closes
    the connection without an answer) or "truncate" (it closes the connection after half the body).
    """

    pattern: str
    kind: str
    status: int = 200
    body: str = ""
    kind_of_body: str = "text/html"


def error(code: int, message: str) -> str:
    """The body that OpenML sends with status 412."""
    return (
        f"<oml:error {_OPEN}><oml:code>{code}</oml:code><oml:message>{message}</oml:message>"
        f"</oml:error>"
    )


class Server:
    """Serve the sets within a `with` block; `asked` lists the requests so far."""

    def __init__(self, sets: Iterable[ServedSet] = ()):
        self.sets = list(sets)
        self.faults: list[Fault] = []
        self.asked: list[str] = []
        self.closed = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.base = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.api = f"{self.base}/api/v1/xml"

    def __enter__(self) -> Server:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def close(self) -> None:
        if not self.closed.is_set():
            self.closed.set()
            self._http.shutdown()
            self._http.server_close()

    def fault(self, line: str) -> Fault | None:
        return next((fault for fault in self.faults if re.search(fault.pattern, line)), None)

    def answer(self, path: str) -> tuple[int, str, bytes]:
        for served in self.sets:
            if path == f"/api/v1/xml/data/{served.number}":
                return 200, "text/xml", served.description(self.base).encode()
            if path == served.arff_path:
                return 200, "text/plain; charset=utf-8", served.arff.encode()
            if served.parquet and path == served.parquet_path:
                return 200, "application/octet-stream", served.parquet_bytes()
        if path.startswith("/api/"):
            return 412, "text/xml", error(111, "Unknown dataset").encode()
        return 404, "text/html", b"<html><br>Not found</html>"


def _handler(server: Server):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.close_connection = True
            line = f"{self.command} {self.path}"
            server.asked.append(line)
            fault = server.fault(line)
            kind = fault.kind if fault else None
            if kind == "drop":
                return
            status, content_type, body = server.answer(self.path.split("?")[0])
            if fault and kind == "answer":
                status, content_type, body = fault.status, fault.kind_of_body, fault.body.encode()
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            # openml needs these headers for Parquet files.
            self.send_header("ETag", f'"{hashlib.md5(body).hexdigest()}"')
            self.send_header("Last-Modified", "Mon, 29 Sep 2014 00:08:07 GMT")
            self.end_headers()
            if self.command == "HEAD":
                return
            self.wfile.write(body[: len(body) // 2] if kind == "truncate" else body)

        do_HEAD = do_GET

        def log_message(self, format, *args):
            pass

    return Handler
