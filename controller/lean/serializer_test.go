package lean

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	restwatch "k8s.io/client-go/rest/watch"
	"pgregory.net/rapid"
)

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
