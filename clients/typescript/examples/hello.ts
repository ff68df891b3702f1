// Runs a PyTorchJob and waits until it has succeeded. docs/clients.md shows it.
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import createClient from "openapi-fetch";
import type { paths, PyTorchJob } from "../index.js";

const client = createClient<paths>({ baseUrl: process.env.PROXY ?? "http://127.0.0.1:8001" }); // kubectl proxy
const jobs = "/apis/kubeflow.org/v1/namespaces/{namespace}/pytorchjobs", path = { namespace: "default" };
const template = { spec: { containers: [{ name: "pytorch", image: "pytorch/pytorch:2.7.0-cuda12.6-cudnn9-runtime", command: ["torchrun", "train.py"] }] } };
const job: PyTorchJob = { apiVersion: "kubeflow.org/v1", kind: "PyTorchJob", metadata: { name: "hello-typescript" }, spec: { pytorchReplicaSpecs: { Worker: { template } } } };
const created = await client.POST(jobs, { params: { path }, body: job });
if (created.error) throw created.error;
const { data: events } = await client.GET(jobs, { params: { path, query: { watch: true, fieldSelector: "metadata.name=hello-typescript" } }, parseAs: "stream" });
for await (const line of createInterface(Readable.fromWeb(events as any))) {
  const { status } = JSON.parse(line).object as PyTorchJob;
  if (status?.completionTime) { console.log(status.conditions?.at(-1)?.type); process.exit(); } // the watch is open
}
