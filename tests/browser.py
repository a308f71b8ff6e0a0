"""A real browser, driven as a reader would use it: Chromium by its DevTools protocol, on the standard library alone."""

import base64
import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess
import time
import urllib.request
from pathlib import Path
from time import monotonic

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
CHROMIUM = os.environ.get("IOKR_BROWSER") or next(filter(None, map(shutil.which, PROGRAMS)), None)
MISSING = "no Chromium found (chromium, google-chrome, msedge); install one or name it in IOKR_BROWSER"


class Socket:
    """The client's side of a WebSocket (RFC 6455), text messages only."""

    def __init__(self, address: str) -> None:
        host, _, path = address.removeprefix("ws://").partition("/")
        name, _, port = host.partition(":")
        self.socket = socket.create_connection((name, int(port)), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = (f"GET /{path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade")
        request = "\r\n".join((*lines, f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "", ""))
        self.socket.sendall(request.encode())
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            self.rest += self.socket.recv(4096)
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        assert b" 101 " in head.split(b"\r\n")[0], head

    def send(self, text: str) -> None:
        data, mask = text.encode(), os.urandom(4)
        size = len(data)
        length = bytes([0x80 | size]) if size < 126 else struct.pack(">BH" if size < 1 << 16 else ">BQ", 0, size)
        if size >= 126:
            length = bytes([0x80 | (126 if size < 1 << 16 else 127)]) + length[1:]
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
        self.socket.sendall(b"\x81" + length + mask + masked)

    def _take(self, size: int) -> bytes:
        while len(self.rest) < size:
            part = self.socket.recv(1 << 20)
            if not part:
                raise ConnectionError("the browser has closed the connection")
            self.rest += part
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def receive(self) -> str:
        message = b""
        while True:
            first, size = self._take(2)
            if size == 126:
                [size] = struct.unpack(">H", self._take(2))
            elif size == 127:
                [size] = struct.unpack(">Q", self._take(8))
            content = self._take(size)
            if first & 0x0F in (0, 1):
                message += content
                if first & 0x80:
                    return message.decode()


class Browser:
    """One page of a headless Chromium."""

    def __init__(self, profile: Path) -> None:
        self.downloads = profile / "downloads"
        self.downloads.mkdir(parents=True)
        options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--no-first-run")
        self.process = subprocess.Popen(
            [CHROMIUM, *options, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        told = profile / "DevToolsActivePort"
        for _ in range(600):
            with contextlib.suppress(FileNotFoundError, IndexError, ValueError):
                port = int(told.read_text().split()[0])
                break
            if self.process.poll() is not None:
                raise RuntimeError(f"{CHROMIUM} ended with {self.process.returncode}")
            time.sleep(0.1)
        else:
            raise TimeoutError(f"{CHROMIUM} does not answer")
        request = urllib.request.Request(f"http://127.0.0.1:{port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=60) as answer:
            self.socket = Socket(json.load(answer)["webSocketDebuggerUrl"])
        self.number, self.errors, self.requests = 0, [], []
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))

    def close(self) -> None:
        with contextlib.suppress(OSError, ConnectionError):
            self.call("Browser.close")
        self.process.wait(timeout=30)

    def _next(self) -> dict:
        message = json.loads(self.socket.receive())
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(message["params"]["exceptionDetails"])
        elif message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message

    def call(self, method: str, **parameters):
        self.number += 1
        number = self.number
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = self._next()
            if message.get("id") == number:
                assert "error" not in message, message["error"]
                return message["result"]

    def open(
        self,
        path: Path,
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        script: bool = True,
        query: str = "",
    ) -> None:
        """A file, at a size; `errors` and `requests` are those of this page."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        media = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=media)
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.errors, self.requests = [], []
        self.call("Page.navigate", url=path.as_uri() + (f"?{query}" if query else ""))
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def read(self, expression: str):
        """The value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, seconds: float = 0.1) -> None:
        """Let the page do what it has put off."""
        self.read(f"new Promise(done => setTimeout(done, {1000 * seconds}))")

    def until(self, expression: str, good, seconds: float = 20.0):
        """The value of an expression as soon as it is good, on a machine however busy; the last one if it never is."""
        end = monotonic() + seconds
        while not good(value := self.read(expression)) and monotonic() < end:
            self.wait()
        return value

    def still(self, expression: str):
        """The value of an expression when it is the same twice."""
        before = [None]
        return self.until(expression, lambda value: before[0] == value or before.__setitem__(0, value))

    def box(self, selector: str) -> tuple[float, float]:
        """The middle of an element, scrolled to."""
        where = json.dumps(selector)
        self.read(f"document.querySelector({where}).scrollIntoView({{block: 'center', behavior: 'instant'}})")
        size = (
            f"(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector({where}).getBoundingClientRect())"
        )
        return tuple(self.read(size))

    def click(self, selector: str) -> None:
        """Press and release the mouse on the middle of an element."""
        self.press(*self.box(selector))

    def press(self, x: float, y: float, to: tuple[float, float] | None = None) -> None:
        """Press at a point, and drag to another."""
        mouse = {"button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **mouse)
        if to is not None:
            for part in (0.3, 0.6, 1.0):
                at = {"x": x + part * (to[0] - x), "y": y + part * (to[1] - y)}
                self.call("Input.dispatchMouseEvent", type="mouseMoved", buttons=1, **at, **mouse)
            x, y = to
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, **mouse)

    def key(self, name: str) -> None:
        """A key, by its name in the DOM."""
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowDown": 40, "ArrowRight": 39, " ": 32}
        text = {"Enter": "\r", " ": " "}.get(name, name if len(name) == 1 else "")
        more = {"key": name, "windowsVirtualKeyCode": codes.get(name, 0), **({"text": text} if text else {})}
        self.call("Input.dispatchKeyEvent", type="keyDown", **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name)

    def type(self, text: str) -> None:
        """Text where the cursor is."""
        self.call("Input.insertText", text=text)

    def picture(self, path: Path) -> None:
        """The whole page as PNG."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))
