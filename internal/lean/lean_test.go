package lean

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	restwatch "k8s.io/client-go/rest/watch"
	"pgregory.net/rapid"
)

// drawnPod returns a pod with any values in all fields that are read, and in some that are skipped.
func drawnPod(t *rapid.T) *corev1.Pod {
	text := rapid.StringN(0, 20, 40)
	labels := rapid.MapOf(rapid.SampledFrom([]string{"training.kubeflow.org/operator-name", "training.kubeflow.org/replica-type", "training.kubeflow.org/job-name", "training.kubeflow.org/restart-count",
		"training.kubeflow.org/ledger", metav1.InitialEventsAnnotationKey, "", "other"}), text)
	moment := rapid.Custom(func(t *rapid.T) metav1.Time {
		return metav1.NewTime(time.Unix(rapid.Int64Range(-1<<33, 1<<33).Draw(t, "time"), 0))
	})
	owner := rapid.Custom(func(t *rapid.T) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: text.Draw(t, "version"), Kind: text.Draw(t, "kind"), Name: text.Draw(t, "name"),
			UID: types.UID(text.Draw(t, "uid")), Controller: rapid.Ptr(rapid.Bool(), true).Draw(t, "controller"), BlockOwnerDeletion: rapid.Ptr(rapid.Bool(), true).Draw(t, "block")}
	})
	terminated := rapid.Custom(func(t *rapid.T) corev1.ContainerStateTerminated {
		return corev1.ContainerStateTerminated{ExitCode: rapid.Int32().Draw(t, "code"), Signal: rapid.Int32().Draw(t, "signal"), Reason: text.Draw(t, "reason"),
			Message: text.Draw(t, "message"), StartedAt: moment.Draw(t, "started"), FinishedAt: moment.Draw(t, "finished"), ContainerID: "id"}
	})
	status := rapid.Custom(func(t *rapid.T) corev1.ContainerStatus {
		s := corev1.ContainerStatus{Name: text.Draw(t, "container"), RestartCount: rapid.Int32().Draw(t, "restarts"), Ready: true, Image: "i",
			LastTerminationState: corev1.ContainerState{Terminated: rapid.Ptr(terminated, true).Draw(t, "before")}}
		switch rapid.IntRange(0, 3).Draw(t, "state") {
		case 0:
			s.State.Running = &corev1.ContainerStateRunning{StartedAt: moment.Draw(t, "started")}
		case 1:
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: text.Draw(t, "reason"), Message: text.Draw(t, "why")}
		case 2:
			s.State.Terminated = rapid.Ptr(terminated, false).Draw(t, "ended")
		}
		return s
	})
	condition := rapid.Custom(func(t *rapid.T) corev1.PodCondition {
		return corev1.PodCondition{Type: rapid.SampledFrom([]corev1.PodConditionType{corev1.PodReady, corev1.PodScheduled, corev1.DisruptionTarget, ""}).Draw(t, "type"),
			Status: rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown, ""}).Draw(t, "status"),
			Reason: text.Draw(t, "reason"), Message: text.Draw(t, "message"), LastTransitionTime: moment.Draw(t, "since"), ObservedGeneration: 3}
	})
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: text.Draw(t, "name"), GenerateName: "g", Namespace: text.Draw(t, "namespace"), UID: types.UID(text.Draw(t, "uid")),
		ResourceVersion: text.Draw(t, "version"), Generation: 3, CreationTimestamp: moment.Draw(t, "created"), Labels: labels.Draw(t, "labels"), Annotations: labels.Draw(t, "annotations"),
		OwnerReferences: rapid.SliceOfN(owner, 0, 3).Draw(t, "owners"), Finalizers: rapid.SliceOfN(text, 0, 2).Draw(t, "finalizers"),
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:metadata":{}}`)}}}},
		Spec: corev1.PodSpec{NodeName: text.Draw(t, "node"), SchedulerName: rapid.SampledFrom([]string{"", "s", corev1.DefaultSchedulerName}).Draw(t, "scheduler"), Containers: []corev1.Container{{Name: "c", Args: []string{text.Draw(t, "argument")}}}},
		Status: corev1.PodStatus{Phase: rapid.SampledFrom([]corev1.PodPhase{"", corev1.PodRunning, corev1.PodFailed, "Strange"}).Draw(t, "phase"), Message: text.Draw(t, "message"), Reason: text.Draw(t, "reason"),
			Conditions: rapid.SliceOfN(condition, 0, 4).Draw(t, "conditions"), ContainerStatuses: rapid.SliceOfN(status, 0, 3).Draw(t, "containers"),
			InitContainerStatuses: rapid.SliceOfN(status, 0, 2).Draw(t, "init"), EphemeralContainerStatuses: rapid.SliceOfN(status, 0, 1).Draw(t, "ephemeral")}}
	if rapid.Bool().Draw(t, "deleting") {
		at := moment.Draw(t, "deleted")
		p.DeletionTimestamp = &at
	}
	return p
}

// someNames are labels and annotations that an operator reads.
func someNames() []string {
	return []string{"training.kubeflow.org/replica-type", "training.kubeflow.org/restart-count"}
}

// wanted returns what is to be read of a pod: of labels and annotations those names, or all (nil).
func wanted(p *corev1.Pod, names []string) *Object {
	keep := func(all map[string]string) (some map[string]string) {
		for name, value := range all {
			if names == nil || kept(name, names) {
				if some == nil {
					some = map[string]string{}
				}
				some[name] = value
			}
		}
		return some
	}
	state := func(of corev1.ContainerState) (read State) {
		if of.Waiting != nil {
			read.Waiting = &Waiting{Reason: of.Waiting.Reason, Message: of.Waiting.Message}
		}
		if end := of.Terminated; end != nil {
			read.Terminated = &Terminated{ExitCode: end.ExitCode, Signal: end.Signal, Reason: end.Reason, FinishedAt: end.FinishedAt}
		}
		return read
	}
	containers := func(all []corev1.ContainerStatus) (read []Container) {
		for _, s := range all {
			read = append(read, Container{Name: s.Name, RestartCount: s.RestartCount, Ready: s.Ready, State: state(s.State), LastState: state(s.LastTerminationState)})
		}
		return read
	}
	var conditions []Condition
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse || (c.Type == corev1.DisruptionTarget || c.Type == corev1.PodReady) && c.Status == corev1.ConditionTrue ||
			c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && c.Reason == "" {
			conditions = append(conditions, Condition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime})
		}
	}
	o := &Object{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: p.UID, ResourceVersion: p.ResourceVersion, CreationTimestamp: p.CreationTimestamp,
		DeletionTimestamp: p.DeletionTimestamp, Generation: p.Generation, Finalizers: p.Finalizers, Labels: keep(p.Labels), Annotations: keep(p.Annotations), OwnerReferences: p.OwnerReferences},
		Spec:   Spec{NodeName: p.Spec.NodeName, SchedulerName: p.Spec.SchedulerName},
		Status: Status{Phase: p.Status.Phase, Reason: p.Status.Reason, Message: p.Status.Message, Conditions: conditions, Containers: containers(p.Status.ContainerStatuses), InitContainers: containers(p.Status.InitContainerStatuses)}}
	return o
}

func encode(t rapid.TB, o runtime.Object) []byte {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	data, err := runtime.Encode(protobuf.NewSerializer(scheme, scheme), o)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestReadsWhatIsThere: any pod is read as if the library had decoded all of it: as protobuf by itself, in a list, and as an answer.
func TestReadsWhatIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pod := drawnPod(t)
		plain, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		var decoded corev1.Pod // times and empty lists as the library reads them
		if err := decoded.Unmarshal(plain); err != nil {
			t.Fatal(err)
		}
		want := wanted(&decoded, someNames())
		same := func(how string, got *Object, err error) {
			t.Helper()
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Object{})); err != nil || diff != "" {
				t.Fatalf("%s: %v, -want +got:\n%s", how, err, diff)
			}
		}
		alone := Object{names: someNames()}
		same("alone", &alone, alone.Unmarshal(plain))

		list, err := (&corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "more"}, Items: []corev1.Pod{*pod, *pod}}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		page := List{names: someNames()}
		if err := page.Unmarshal(list); err != nil || len(page.Items) != 2 || page.ResourceVersion != "7" || page.Continue != "more" {
			t.Fatalf("%+v, %v", page, err)
		}
		same("in a list", &page.Items[1], nil)

		pod.Kind, pod.APIVersion = "Pod", "v1"
		answer, err := Answer(encode(t, pod))
		if diff := cmp.Diff(&wanted(&decoded, nil).ObjectMeta, answer, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("as an answer: %v, -want +got:\n%s", err, diff)
		}
	})
}

// TestReadsJSON: if there is no protobuf, JSON means the same.
func TestReadsJSON(t *testing.T) {
	text := `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"n","uid":"u","resourceVersion":"5","deletionTimestamp":"2026-01-01T00:00:00Z",
		"labels":{"training.kubeflow.org/replica-type":"worker"},"ownerReferences":[{"uid":"o","controller":true}]},
		"spec":{"containers":[{}]},"status":{"phase":"Failed","reason":"Evicted","message":"memory","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"no node","lastTransitionTime":"2026-01-01T00:00:00Z"}],"initContainerStatuses":[{"name":"i","restartCount":2}],
		"containerStatuses":[{"name":"c","restartCount":1,"state":{"terminated":{"exitCode":137}},"lastState":{"terminated":{"exitCode":9}}},
		{"name":"d","state":{"waiting":{"reason":"ErrImagePull","message":"no such image"}}}]}}`
	var got Object
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if answer, err := Answer([]byte(text)); err != nil || !cmp.Equal(*answer, got.ObjectMeta) {
		t.Errorf("as an answer: %+v, %v", answer, err)
	}
	if got.Name != "n" || got.UID != "u" || got.ResourceVersion != "5" || got.DeletionTimestamp == nil || got.Labels["training.kubeflow.org/replica-type"] != "worker" || got.OwnerReferences[0].UID != "o" {
		t.Errorf("metadata %+v", got.ObjectMeta)
	}
	want := Status{Phase: corev1.PodFailed, InitContainers: []Container{{Name: "i", RestartCount: 2}}, Containers: []Container{{Name: "c", RestartCount: 1, State: State{Terminated: &Terminated{ExitCode: 137}}, LastState: State{Terminated: &Terminated{ExitCode: 9}}}, {Name: "d", State: State{Waiting: &Waiting{"ErrImagePull", "no such image"}}}},
		Reason: "Evicted", Message: "memory", Conditions: []Condition{{"PodScheduled", "False", "Unschedulable", "no node", metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Local())}}}
	if diff := cmp.Diff(want, got.Status); diff != "" {
		t.Error(diff)
	}
}

func TestAnswers(t *testing.T) {
	status := &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Success", Details: &metav1.StatusDetails{UID: "u", Name: "n"}}
	inJSON, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{"protobuf": encode(t, status), "JSON": inJSON} {
		if got, err := Answer(body); err != nil || !cmp.Equal(got, &metav1.ObjectMeta{}) {
			t.Errorf("a Status in %s: %+v, %v", name, got, err)
		}
	}
	for _, body := range []string{"", "no", `{"metadata":7}`, string(magic) + "\x0a", string(magic) + "\x12\x03\x0a\x05x"} {
		if got, err := Answer([]byte(body)); err == nil {
			t.Errorf("%q: %+v", body, got)
		}
	}
}

// FuzzUnmarshal: any input is read or refused. Input that the library also reads means the same to both, and nothing that the library has
// read and written again is refused. (The original may be: the library skips groups with the wrong end, and numbers that are too long,
// which no API server sends.)
func FuzzUnmarshal(f *testing.F) {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"training.kubeflow.org/replica-type": "worker"}, OwnerReferences: []metav1.OwnerReference{{UID: "u"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Reason: "Evicted", Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable"}}, ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: -1}}}}}}
	data, err := pod.Marshal()
	if err != nil {
		f.Fatal(err)
	}
	for end := range data {
		f.Add(data[:end+1])
	}
	f.Add(bytes.Repeat([]byte{0xff}, 20))
	f.Add([]byte("\xeb0$")) // a group, and the end of another
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = new(List).Unmarshal(data)
		var o Object
		err := o.Unmarshal(data)
		var p corev1.Pod
		if p.Unmarshal(data) != nil {
			return
		}
		want := wanted(&p, nil)
		if diff := cmp.Diff(want, &o, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Object{})); err == nil && diff != "" {
			t.Errorf("read otherwise than the library does, -want +got:\n%s", diff)
		}
		again, err := p.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if err := new(Object).Unmarshal(again); err != nil {
			t.Errorf("the library wrote it: %v", err)
		}
	})
}

// library returns the library's serializer.
func library() runtime.NegotiatedSerializer {
	return serializer.NewCodecFactory(newScheme()).WithoutConversion()
}

// watched reads a watch as clients do.
func watched(t rapid.TB, media string, how runtime.NegotiatedSerializer, stream []byte) *restwatch.Decoder {
	t.Helper()
	objects, events, framer, err := runtime.NewClientNegotiator(how, corev1.SchemeGroupVersion).StreamDecoder(media, nil)
	if err != nil {
		t.Fatal(err)
	}
	return restwatch.NewDecoder(streaming.NewDecoder(framer.NewFrameReader(io.NopCloser(bytes.NewReader(stream))), events), objects)
}

// sent returns a watch as an API server sends it.
func sent(t rapid.TB, media string, events ...metav1.WatchEvent) []byte {
	t.Helper()
	info, _ := runtime.SerializerInfoForMediaType(library().SupportedMediaTypes(), media)
	var stream bytes.Buffer
	encoder := streaming.NewEncoder(info.StreamSerializer.Framer.NewFrameWriter(&stream), info.StreamSerializer.Serializer)
	for i := range events {
		if err := encoder.Encode(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	return stream.Bytes()
}

// TestReadsAWatch: what a watch brings is read as the library reads it, and stays as it was when more arrives.
func TestReadsAWatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods := rapid.SliceOfN(rapid.Custom(drawnPod), 1, 4).Draw(t, "pods")
		var events []metav1.WatchEvent
		for _, pod := range pods {
			pod.Kind, pod.APIVersion = "Pod", "v1"
			events = append(events, metav1.WatchEvent{Type: string(watch.Modified), Object: runtime.RawExtension{Raw: encode(t, pod)}})
		}
		stream := sent(t, runtime.ContentTypeProtobuf, events...)
		ours, theirs := watched(t, runtime.ContentTypeProtobuf, uncopiedProtobuf(library(), nil), stream), watched(t, runtime.ContentTypeProtobuf, library(), stream)
		var got, want []runtime.Object
		for range pods {
			for _, side := range []struct {
				decoder *restwatch.Decoder
				objects *[]runtime.Object
			}{{ours, &got}, {theirs, &want}} {
				kind, o, err := side.decoder.Decode()
				if err != nil || kind != watch.Modified {
					t.Fatal(kind, err)
				}
				*side.objects = append(*side.objects, o)
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Object{}, List{})); diff != "" {
			t.Fatalf("-library +ours:\n%s", diff)
		}
		if _, _, err := ours.Decode(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	})
}

// TestReadsOtherEvents: errors, bookmarks, JSON, malformed data and other kinds are read as by the library.
func TestReadsOtherEvents(t *testing.T) {
	gone := encode(t, &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Code: 410, Reason: metav1.StatusReasonExpired})
	bookmark := encode(t, &corev1.Service{TypeMeta: metav1.TypeMeta{Kind: "Service", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9",
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}})
	other := encode(t, &corev1.Secret{TypeMeta: metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"}})
	event := func(kind watch.EventType, raw []byte) metav1.WatchEvent {
		return metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: raw}}
	}
	for name, c := range map[string]struct {
		media  string
		stream []byte
	}{
		"error":       {runtime.ContentTypeProtobuf, sent(t, runtime.ContentTypeProtobuf, event(watch.Error, gone))},
		"bookmark":    {runtime.ContentTypeProtobuf, sent(t, runtime.ContentTypeProtobuf, event(watch.Bookmark, bookmark))},
		"other kind":  {runtime.ContentTypeProtobuf, sent(t, runtime.ContentTypeProtobuf, event(watch.Added, other))},
		"cut object":  {runtime.ContentTypeProtobuf, sent(t, runtime.ContentTypeProtobuf, event(watch.Added, bookmark[:len(bookmark)-3]))},
		"no object":   {runtime.ContentTypeProtobuf, sent(t, runtime.ContentTypeProtobuf, event(watch.Added, nil))},
		"odd type":    {runtime.ContentTypeProtobuf, sent(t, runtime.ContentTypeProtobuf, event("ODD", bookmark))},
		"broken":      {runtime.ContentTypeProtobuf, []byte{0, 0, 0, 2, 0x0a, 0x09}},
		"JSON":        {runtime.ContentTypeJSON, sent(t, runtime.ContentTypeJSON, event(watch.Added, []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"n"}}`)))},
		"broken JSON": {runtime.ContentTypeJSON, []byte(`{"type":"ADDED","object":7}`)},
	} {
		t.Run(name, func(t *testing.T) {
			gotKind, got, gotErr := watched(t, c.media, uncopiedProtobuf(library(), nil), c.stream).Decode()
			wantKind, want, wantErr := watched(t, c.media, library(), c.stream).Decode()
			if gotKind != wantKind || !cmp.Equal(want, got, cmpopts.IgnoreUnexported(Object{}, List{})) || (gotErr == nil) != (wantErr == nil) {
				t.Errorf("%v %+v %v\nthe library: %v %+v %v", gotKind, got, gotErr, wantKind, want, wantErr)
			}
		})
	}
}
