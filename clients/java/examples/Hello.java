// Runs a PyTorchJob and waits until it has succeeded. docs/clients.md shows it.
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.http.*;
import java.util.*;
import org.kubeflow.v1.*;

public class Hello {
    public static void main(String[] args) throws Exception {
        var server = Optional.ofNullable(System.getenv("PROXY")).orElse("http://127.0.0.1:8001"); // kubectl proxy
        var jobs = server + "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs";
        var container = Map.of("name", "pytorch", "image", "pytorch/pytorch:2.7.0-cuda12.6-cudnn9-runtime", "command", List.of("torchrun", "train.py"));
        var worker = new ReplicaSpec();
        worker.setTemplate(Map.of("spec", Map.of("containers", List.of(container))));
        var metadata = new ObjectMeta();
        metadata.setName("hello-java");
        var spec = new PyTorchJobSpec();
        spec.setPytorchReplicaSpecs(Map.of("Worker", worker));
        var job = new PyTorchJob();
        job.setAPIVersion("kubeflow.org/v1");
        job.setKind("PyTorchJob");
        job.setMetadata(metadata);
        job.setSpec(spec);
        var http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build(); // the proxy takes an upgrade for that of exec
        var body = HttpRequest.BodyPublishers.ofString(Converter.PyTorchJobToJsonString(job));
        var created = http.send(HttpRequest.newBuilder(URI.create(jobs)).header("Content-Type", "application/json").POST(body).build(), HttpResponse.BodyHandlers.ofString());
        if (created.statusCode() != 201) throw new IllegalStateException(created.body());
        var watch = HttpRequest.newBuilder(URI.create(jobs + "?watch=true&fieldSelector=metadata.name%3Dhello-java")).build();
        for (var line : (Iterable<String>) http.send(watch, HttpResponse.BodyHandlers.ofLines()).body()::iterator) {
            var status = Converter.PyTorchJobFromJsonString(new ObjectMapper().readTree(line).get("object").toString()).getStatus();
            if (status != null && status.getCompletionTime() != null) {
                System.out.println(status.getConditions().get(status.getConditions().size() - 1).getType());
                break;
            }
        }
    }
}
