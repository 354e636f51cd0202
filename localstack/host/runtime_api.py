"""The Lambda runtime API (https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html) for one `bootstrap` process."""
import queue
import threading
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class RuntimeAPI(ThreadingHTTPServer):
    """Serves one process on a free port of 127.0.0.1: it asks for an invocation, answers it, and asks for the next."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.ready = threading.Event()  # the process has asked for its first invocation, or has failed to start
        self.init_error = None
        self.invocations = queue.Queue()  # None ends it
        self.answer = Future()  # of the current invocation: (body, is it an error)
        self.death = None  # the error that answers invocations after the process has died
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def address(self):
        return "127.0.0.1:%d" % self.server_address[1]

    def ask(self, invocation, timeout):
        """Passes an invocation to the process and returns its answer. It raises TimeoutError if there is none in time."""
        self.answer = Future()
        if self.death:
            self.settle(self.death, True)
        self.invocations.put(invocation)
        return self.answer.result(timeout)

    def settle(self, body, is_error):
        """Ends the current invocation, once: a process may die right after its answer."""
        if not self.answer.done():
            self.answer.set_result((body, is_error))

    def died(self, error):
        """Ends the current invocation, and all later ones, with an error: no process answers them."""
        self.death = error
        self.ready.set()
        self.settle(error, True)

    def close(self):
        self.invocations.put(None)
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet for each answer: two packets cost 40 ms each in delayed ACKs
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def do_GET(self):  # /2018-06-01/runtime/invocation/next
        self.server.ready.set()
        invocation = self.server.invocations.get()
        if invocation is None:
            self._reply(503)
            return
        self._reply(200, invocation["payload"].encode(), {
            "Content-Type": "application/json",
            "Lambda-Runtime-Aws-Request-Id": invocation["invoke-id"],
            "Lambda-Runtime-Deadline-Ms": str(int(invocation["deadline"] * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": invocation["invoked-function-arn"],
            "Lambda-Runtime-Trace-Id": invocation["trace-id"],
        })

    def do_POST(self):  # .../invocation/ID/response, .../invocation/ID/error, .../init/error
        body, path = self._body(), self.path
        if path.endswith("/init/error"):
            self.server.init_error = body
            self.server.ready.set()
        else:
            self.server.settle(body, path.endswith("/error"))
        self._reply(202, b'{"status":"OK"}')

    def _body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():  # trailers
            pass
        return body

    def _reply(self, code, body=b"", headers=None):
        self.send_response(code)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
