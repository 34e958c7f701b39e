"""A headless Chromium, controlled over two pipes in its DevTools protocol: JSON messages that end with a zero
byte."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Browser:
    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="zt-report-")
        its_input, self.to = os.pipe()
        self.back, its_output = os.pipe()

        def pipes():  # Chromium reads from 3 and writes to 4
            held = os.dup(its_input), os.dup(its_output)
            os.dup2(held[0], 3)
            os.dup2(held[1], 4)

        flags = ["--headless=new", "--disable-gpu", "--no-first-run", "--disable-extensions", "--hide-scrollbars",
                 "--force-color-profile=srgb", "--disable-background-networking", "--remote-debugging-pipe"]
        if os.getuid() == 0:
            flags.append("--no-sandbox")
        self.process = subprocess.Popen([program, *flags, f"--user-data-dir={self.folder}", "about:blank"],
                                        preexec_fn=pipes, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(its_input)
        os.close(its_output)
        self.number, self.bytes, self.session, self.events = 0, b"", None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Network", "Log"]:
            self.call(domain + ".enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.bytes:
            ready, _, _ = select.select([self.back], [], [], max(0, end - time.monotonic()))
            chunk = os.read(self.back, 1 << 20) if ready else b""
            if not chunk:
                raise RuntimeError("Chromium does not answer")
            self.bytes += chunk
        one, self.bytes = self.bytes.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message(120)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.message(120))

    def open(self, path, width=1440, height=1500, dark=False):
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait_for("Page.loadEventFired")

    def run(self, script):
        """The value of a script, which may be a promise."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def click(self, x, y):
        for kind in ["mousePressed", "mouseReleased"]:
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, key):
        codes = {"Enter": 13, "Backspace": 8, "ArrowDown": 40, "ArrowRight": 39, "Escape": 27, "End": 35}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=codes[key], **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=codes[key])

    def requests(self):
        """The URLs that were requested besides the page itself."""
        sent = [event["params"]["request"]["url"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [url for url in sent if not url.startswith("file://") or not url.endswith(".html")]

    def complaints(self):
        found = [event["params"] for event in self.events if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]
        return [json.dumps(one) for one in found]

    def picture(self, path, clip=None):
        more = {"clip": {**clip, "scale": clip.get("scale", 1)}} if clip else {}
        data = self.call("Page.captureScreenshot", format="png", **more)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
