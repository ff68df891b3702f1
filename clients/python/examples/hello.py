# Runs a PyTorchJob and waits until it has succeeded. docs/clients.md shows it.
import json, os, urllib.request
from kubeflow_v1 import ObjectMeta, PyTorchJob, PyTorchJobSpec, ReplicaSpec

jobs = os.environ.get("PROXY", "http://127.0.0.1:8001") + "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"  # kubectl proxy
container = {"name": "pytorch", "image": "pytorch/pytorch:2.7.0-cuda12.6-cudnn9-runtime", "command": ["torchrun", "train.py"]}
spec = PyTorchJobSpec(pytorch_replica_specs={"Worker": ReplicaSpec(template={"spec": {"containers": [container]}})})
job = PyTorchJob(api_version="kubeflow.org/v1", kind="PyTorchJob", metadata=ObjectMeta(name="hello-python"), spec=spec)
urllib.request.urlopen(urllib.request.Request(jobs, json.dumps(job.to_dict()).encode(), {"Content-Type": "application/json"}))
for line in urllib.request.urlopen(jobs + "?watch=true&fieldSelector=metadata.name%3Dhello-python"):
    status = PyTorchJob.from_dict(json.loads(line)["object"]).status
    if status and status.completion_time:
        print(status.conditions[-1].type)
        break
