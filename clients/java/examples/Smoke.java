// Does with PyTorchJobs what Hello.java does not: a test of the operator runs it behind Hello.java, whose job it deletes.
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.http.*;
import java.util.*;
import java.util.function.BiPredicate;
import org.kubeflow.v1.*;

public class Smoke {
    static final String JOBS = Optional.ofNullable(System.getenv("PROXY")).orElse("http://127.0.0.1:8001") + "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs";
    static final String FINISHED = "hello-java", REJECTED = "rejected-java";
    static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    static PyTorchJob job(String name, String container, long replicas) {
        var worker = new ReplicaSpec();
        worker.setReplicas(replicas);
        worker.setRestartPolicy(RestartPolicy.NEVER);
        worker.setTemplate(Map.of("spec", Map.of("containers", List.of(Map.of("name", container, "image", "example.com/train:1")))));
        var metadata = new ObjectMeta();
        metadata.setName(name);
        var spec = new PyTorchJobSpec();
        spec.setPytorchReplicaSpecs(Map.of("Worker", worker));
        var job = new PyTorchJob();
        job.setAPIVersion("kubeflow.org/v1");
        job.setKind("PyTorchJob");
        job.setMetadata(metadata);
        job.setSpec(spec);
        return job;
    }

    static HttpResponse<String> request(String method, String path, PyTorchJob body) throws Exception {
        var content = body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(Converter.PyTorchJobToJsonString(body));
        var request = HttpRequest.newBuilder(URI.create(JOBS + path)).header("Content-Type", "application/json").method(method, content).build();
        return HTTP.send(request, HttpResponse.BodyHandlers.ofString());
    }

    static void check(Object found, Object wanted, String what) {
        if (!wanted.equals(found)) {
            throw new IllegalStateException(what + ": " + found + ", want " + wanted);
        }
    }

    static void awaitEvent(String name, String resourceVersion, BiPredicate<String, PyTorchJob> is) throws Exception {
        var watch = HttpRequest.newBuilder(URI.create(JOBS + "?watch=true&fieldSelector=metadata.name%3D" + name + "&resourceVersion=" + resourceVersion)).build();
        try (var lines = HTTP.send(watch, HttpResponse.BodyHandlers.ofLines()).body()) {
            for (var line : (Iterable<String>) lines::iterator) {
                var event = new ObjectMapper().readTree(line);
                if (is.test(event.get("type").asText(), Converter.PyTorchJobFromJsonString(event.get("object").toString()))) {
                    return;
                }
            }
        }
        throw new IllegalStateException("the watch of " + name + " has ended before what it waits for");
    }

    static boolean isRejected(PyTorchJob job) {
        return job.getStatus() != null && job.getStatus().getConditions() != null && job.getStatus().getConditions().stream()
            .anyMatch(c -> c.getType().equals("Failed") && c.getStatus().equals("True") && c.getReason().equals("InvalidSpec"));
    }

    public static void main(String[] args) throws Exception {
        // What the schema does not allow is not stored; what the operator alone finds fails the job.
        check(request("POST", "", job("refused-java", "pytorch", -1)).statusCode(), 422, "a job with -1 replicas");
        check(request("POST", "", job(REJECTED, "main", 1)).statusCode(), 201, "a malformed job");
        awaitEvent(REJECTED, "", (type, job) -> isRejected(job));

        var list = Converter.PyTorchJobListFromJsonString(request("GET", "", null).body());
        var first = list.getItems().stream().filter(j -> j.getMetadata().getName().equals(FINISHED)).findFirst().orElseThrow();
        check(first.getStatus().getReplicaStatuses().get("Worker").getSucceeded(), 1L, "workers of the first job that have succeeded");
        for (var name : List.of(FINISHED, REJECTED)) {
            check(request("DELETE", "/" + name, null).statusCode(), 200, "delete " + name);
            awaitEvent(name, list.getMetadata().getResourceVersion(), (type, job) -> type.equals("DELETED"));
            check(request("GET", "/" + name, null).statusCode(), 404, "a job that is deleted");
        }
        System.exit(0); // the client of HTTP has threads
    }
}
