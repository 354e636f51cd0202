"""Lambda execution environments as processes: LocalStack itself starts a container for each."""
import json
import os
import subprocess
import threading
import time

from localstack.services.lambda_.invocation.lambda_models import InvocationResult
from localstack.services.lambda_.invocation.runtime_executor import RuntimeExecutor

from runtime_api import RuntimeAPI

START_SECONDS = 10  # what Lambda gives a function to initialise


class ProcessExecutor(RuntimeExecutor):
    """One execution environment: a process that runs `bootstrap`, which is replaced if it dies or is killed."""

    process = None
    busy = stopped = False

    def start(self, env_vars):
        self.lock = threading.Lock()
        self.env_vars = env_vars
        self.api = RuntimeAPI()
        self.code = self.function_version.config.code.get_unzipped_code_location()
        name = "lambda-%s-%s.log" % (self.function_version.id.function_name, self.id[:8])
        self.log = open(os.path.join(os.environ["LAMBDA_LOG_DIR"], name), "a+")
        self.told = 0  # how much of the log CloudWatch has
        self._spawn()

    def _spawn(self):
        environment = {name: str(value) for name, value in self.env_vars.items()}
        environment |= {"AWS_LAMBDA_RUNTIME_API": self.api.address, "LAMBDA_TASK_ROOT": str(self.code), "PATH": "/usr/bin:/bin"}
        environment |= _replaced(self.function_version.id.function_name)
        bootstrap = os.path.join(self.code, "bootstrap")
        os.chmod(bootstrap, 0o755)  # LocalStack's unzip loses the mode
        self.process = subprocess.Popen([bootstrap], env=environment, cwd=self.code, stdout=self.log, stderr=self.log)
        threading.Thread(target=self._watch, args=(self.process, self.api), daemon=True).start()
        self.api.ready.wait(START_SECONDS)
        if self.api.init_error or self.process.poll() is not None or not self.api.ready.is_set():
            self.stop()
            # Lambda answers such an invocation with an error, and counts it. (Imported here, because it imports modules in which
            # main.py replaces functions.)
            from localstack.services.lambda_.invocation.executor_endpoint import StatusErrorException

            error = {"errorType": "Runtime.ExitError", "errorMessage": "bootstrap did not start: %s" % (self.api.init_error or self.get_logs())}
            raise StatusErrorException(error["errorMessage"], payload=json.dumps(error).encode())

    def _watch(self, process, api):
        """Answers for a process that dies before its answer, as Lambda does."""
        error = {"errorType": "Runtime.ExitError", "errorMessage": "runtime exited with status %d" % process.wait()}
        api.died(json.dumps(error).encode())

    def invoke(self, payload):
        with self.lock:
            self.busy = True
        try:
            return self._invoke(payload)
        finally:
            with self.lock:
                self.busy = False
            if self.stopped:
                self._end()

    def _invoke(self, payload):
        if self.process.poll() is not None:  # it died after its last answer: Lambda starts another
            self.api.close()
            self.api = RuntimeAPI()
            self._spawn()
        timeout = self.function_version.config.timeout
        self._note("START RequestId: %s" % payload["invoke-id"])
        try:
            body, is_error = self.api.ask(payload | {"deadline": time.time() + timeout}, timeout)
        except TimeoutError:
            self.process.kill()
            self.process.wait()
            error = {"errorType": "Sandbox.Timedout", "errorMessage": "Task timed out after %d.00 seconds" % timeout}
            body, is_error = json.dumps(error).encode(), True
        self._note("END RequestId: %s" % payload["invoke-id"])
        return InvocationResult(payload["invoke-id"], body, is_error, self.get_logs())

    def stop(self):
        """Ends the environment after the invocation that it handles: Lambda interrupts none when other code is deployed."""
        with self.lock:
            self.stopped = True
            if self.busy:
                return  # invoke ends it
        self._end()

    def _end(self):
        self.process.terminate()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.api.close()

    def get_address(self):
        return "127.0.0.1"

    def get_endpoint_from_executor(self):
        return "127.0.0.1"

    def get_runtime_endpoint(self):
        return ""  # for LocalStack's own runtime, which is not used

    def _note(self, line):
        self.log.write(line + "\n")
        self.log.flush()

    def get_logs(self):
        """Returns the log since the last call, which LocalStack passes on to CloudWatch."""
        with open(self.log.name, errors="replace") as log:
            log.seek(self.told)
            text = log.read()
            self.told = log.tell()
        return text

    @classmethod
    def prepare_version(cls, function_version):
        if function_version.config.code:
            function_version.config.code.prepare_for_execution()  # unzips it

    @classmethod
    def cleanup_version(cls, function_version):
        pass


def _replaced(function):
    """Returns variables that a check sets for a function: FUNCTION_ENVIRONMENT names a file with those of each function, by its
    name. The deployment does not know them, so they stay when other code or another configuration is deployed."""
    path = os.environ.get("FUNCTION_ENVIRONMENT")
    if not path or not os.path.exists(path):
        return {}
    with open(path) as file:
        return json.load(file).get(function, {})
