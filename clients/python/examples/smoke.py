# Does with PyTorchJobs what hello.py does not: a test of the operator runs it behind hello.py, whose job it deletes.
import json
import os
import urllib.error
import urllib.request

from kubeflow_v1 import ObjectMeta, PyTorchJob, PyTorchJobList, PyTorchJobSpec, ReplicaSpec, RestartPolicy

jobs = os.environ.get("PROXY", "http://127.0.0.1:8001") + "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
finished, rejected = "hello-python", "rejected-python"


def job(name, container, replicas):
    template = {"spec": {"containers": [{"name": container, "image": "example.com/train:1"}]}}
    worker = ReplicaSpec(replicas=replicas, restart_policy=RestartPolicy.NEVER, template=template)
    return PyTorchJob(api_version="kubeflow.org/v1", kind="PyTorchJob", metadata=ObjectMeta(name=name),
                      spec=PyTorchJobSpec(pytorch_replica_specs={"Worker": worker}))


def request(method, path="", body=None):
    """The status code of an answer, and what it says."""
    data = None if body is None else json.dumps(body.to_dict()).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(jobs + path, data, {"Content-Type": "application/json"}, method=method)) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def check(found, wanted, what):
    if found != wanted:
        raise SystemExit(f"{what}: {found}, want {wanted}")


def await_event(name, resource_version, is_it):
    with urllib.request.urlopen(f"{jobs}?watch=true&fieldSelector=metadata.name%3D{name}&resourceVersion={resource_version}") as events:
        for line in events:
            event = json.loads(line)
            if is_it(event["type"], PyTorchJob.from_dict(event["object"])):
                return
    raise SystemExit(f"the watch of {name} has ended before what it waits for")


def is_rejected(_, job):
    conditions = job.status and job.status.conditions or []
    return any(c.type == "Failed" and c.status == "True" and c.reason == "InvalidSpec" for c in conditions)


# What the schema does not allow is not stored; what the operator alone finds fails the job.
check(request("POST", body=job("refused-python", "pytorch", -1))[0], 422, "a job with -1 replicas")
check(request("POST", body=job(rejected, "main", 1))[0], 201, "a malformed job")
await_event(rejected, "", is_rejected)

listed = PyTorchJobList.from_dict(request("GET")[1])
first = next(j for j in listed.items if j.metadata.name == finished)
check(first.status.replica_statuses["Worker"].succeeded, 1, "workers of the first job that have succeeded")
check(PyTorchJob.from_dict(first.to_dict()), first, "a job that is written and read")
for name in finished, rejected:
    check(request("DELETE", "/" + name)[0], 200, "delete " + name)
    await_event(name, listed.metadata.resource_version, lambda kind, _: kind == "DELETED")
    check(request("GET", "/" + name)[0], 404, "a job that is deleted")
