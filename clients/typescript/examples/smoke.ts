// Does with PyTorchJobs what hello.ts does not: a test of the operator runs it behind hello.ts, whose job it deletes.
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import createClient from "openapi-fetch";
import type { paths, PyTorchJob } from "../index.js";

const client = createClient<paths>({ baseUrl: process.env.PROXY ?? "http://127.0.0.1:8001" });
const jobs = "/apis/kubeflow.org/v1/namespaces/{namespace}/pytorchjobs", one = "/apis/kubeflow.org/v1/namespaces/{namespace}/pytorchjobs/{name}";
const path = { namespace: "default" };
const finished = "hello-typescript", rejected = "rejected-typescript";

interface Event { type: string; object: PyTorchJob }

const job = (name: string, container: string, replicas: number): PyTorchJob => ({
  apiVersion: "kubeflow.org/v1", kind: "PyTorchJob", metadata: { name },
  spec: { pytorchReplicaSpecs: { Worker: { replicas, restartPolicy: "Never", template: { spec: { containers: [{ name: container, image: "example.com/train:1" }] } } } } },
});

function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

async function awaitEvent(name: string, resourceVersion: string | undefined, is: (event: Event) => boolean): Promise<void> {
  const { data } = await client.GET(jobs, { params: { path, query: { watch: true, fieldSelector: `metadata.name=${name}`, resourceVersion } }, parseAs: "stream" });
  for await (const line of createInterface(Readable.fromWeb(data as any))) if (is(JSON.parse(line) as Event)) return;
  throw new Error(`the watch of ${name} has ended before what it waits for`);
}

// What the schema does not allow is not stored.
const refused = await client.POST(jobs, { params: { path }, body: job("refused-typescript", "pytorch", -1) });
check(refused.response.status === 422, `a job with -1 replicas: ${refused.response.status}, want 422`);

// What the operator alone finds fails the job.
const malformed = await client.POST(jobs, { params: { path }, body: job(rejected, "main", 1) });
check(malformed.response.status === 201, `a malformed job: ${malformed.response.status}, want 201`);
await awaitEvent(rejected, undefined, ({ object }) =>
  object.status?.conditions?.some((c) => c.type === "Failed" && c.status === "True" && c.reason === "InvalidSpec") ?? false);

const list = await client.GET(jobs, { params: { path } });
const succeeded = list.data?.items.find((j) => j.metadata?.name === finished)?.status?.replicaStatuses?.Worker?.succeeded;
check(succeeded === 1, `${succeeded} workers of the first job have succeeded, want 1`);
for (const name of [finished, rejected]) {
  const deleted = await client.DELETE(one, { params: { path: { ...path, name } } });
  check(deleted.response.status === 200, `delete ${name}: ${deleted.response.status}, want 200`);
  await awaitEvent(name, list.data?.metadata?.resourceVersion, ({ type }) => type === "DELETED");
  const gone = await client.GET(one, { params: { path: { ...path, name } } });
  check(gone.response.status === 404, `a job that is deleted: ${gone.response.status}, want 404`);
}
process.exit(0); // the streams of the watches are open
