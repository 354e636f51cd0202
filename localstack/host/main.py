"""Runs LocalStack without a container engine, on 127.0.0.1 only.

Usage: DYNAMODB_DIR=... LAMBDA_LOG_DIR=... GATEWAY_LISTEN=127.0.0.1:4566 python main.py

Each function below replaces one part that needs a download, a container, or an open port. All of them must do so before
LocalStack loads its providers.
"""
import os
import sys
import threading


def let_locks_be_types():
    """LocalStack writes `Lock | None` in signatures, and threading.Lock is a type only from Python 3.13 on."""
    if sys.version_info >= (3, 13):
        return

    def as_type(make):
        return type(make.__name__, (), {"__new__": lambda cls, *args: make(*args)})

    threading.Lock, threading.RLock = as_type(threading.Lock), as_type(threading.RLock)


def listen_on_loopback():
    """LocalStack ignores the host of GATEWAY_LISTEN and listens on every interface."""
    from twisted.internet import endpoints

    listen = endpoints.TCP4ServerEndpoint
    endpoints.TCP4ServerEndpoint = lambda reactor, port, **options: listen(reactor, port, **options | {"interface": "127.0.0.1"})


def start_installed_dynamodb():
    """LocalStack downloads DynamoDB Local and a Java. This starts the one that localstack/install put into DYNAMODB_DIR."""
    from localstack.services.dynamodb.packages import DynamoDBLocalPackageInstaller
    from localstack.services.dynamodb.server import DynamodbServer

    where = os.environ["DYNAMODB_DIR"]

    def command(server):
        return ["java", f"-Xmx{server.heap_size}", f"-Djava.library.path={where}/jars/DynamoDBLocal_lib",
                "-cp", f"{where}/classes:{where}/jars/DynamoDBLocal.jar:{where}/jars/DynamoDBLocal_lib/*",
                "LoopbackDynamoDB", "-port", str(server.port), "-disableTelemetry", "-inMemory"]

    DynamoDBLocalPackageInstaller.install = lambda self, target=None: None
    DynamoDBLocalPackageInstaller.get_java_env_vars = lambda self: {"PATH": os.environ["PATH"]}
    DynamodbServer._create_shell_command = command


def run_functions_as_processes():
    """The modules that use get_runtime_executor import it by name, so it is replaced before they are loaded."""
    from localstack.services.lambda_.invocation import runtime_executor

    from executor import ProcessExecutor

    runtime_executor.get_runtime_executor = lambda: ProcessExecutor


def deploy_without_dawdling():
    """CloudFormation checks after 5 s whether a function is active, which takes milliseconds. This one checks after 0.2 s."""
    from functools import partialmethod

    from localstack.services.cloudformation.resource_provider import ResourceProviderExecutor as Executor

    Executor.deploy_loop = partialmethod(Executor.deploy_loop, sleep_time=0.2)


def let_updates_look_up_parameters():
    """A change set knows Fn::FindInMap with literal keys only: the update of a stack that looks up a parameter is refused. Here such
    a value has changed if the parameter has, or anything in the map."""
    from localstack.services.cloudformation.engine.v2.change_set_model import ChangeSetModel as Model

    by_literals = Model._resolve_intrinsic_function_fn_find_in_map

    def resolve(model, arguments):
        try:
            return by_literals(model, arguments)
        except NotImplementedError:
            return model._retrieve_mapping(mapping_name=arguments.array[0].value).bindings.change_type

    Model._resolve_intrinsic_function_fn_find_in_map = resolve


if __name__ == "__main__":
    let_locks_be_types()
    listen_on_loopback()
    start_installed_dynamodb()
    run_functions_as_processes()
    deploy_without_dawdling()
    let_updates_look_up_parameters()
    from localstack.runtime.main import main

    main()
