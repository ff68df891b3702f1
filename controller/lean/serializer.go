package lean

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// uncopied reads protobuf where it lies. The library copies what a watch brings twice before it reads any of it: once out of
// the event, once out of the envelope. That was a sixth of all bytes that the operator allocated.
//
//	watch   WatchEvent{type, object: "k8s\0" Unknown{kind, raw: Pod}}
//	list                             "k8s\0" Unknown{kind, raw: PodList}
//
// Everything else than these is left to the library: JSON, a Status, what is broken.
type uncopied struct {
	runtime.NegotiatedSerializer
	media []runtime.SerializerInfo
}

func newUncopied(library runtime.NegotiatedSerializer) uncopied {
	media := slices.Clone(library.SupportedMediaTypes())
	for i, m := range media {
		if m.MediaType == runtime.ContentTypeProtobuf && m.StreamSerializer != nil {
			stream := *m.StreamSerializer
			stream.Serializer = eventReader{stream.Serializer}
			media[i].Serializer, media[i].StreamSerializer = objectReader{m.Serializer}, &stream
		}
	}
	return uncopied{library, media}
}

// SupportedMediaTypes are those of the library.
func (u uncopied) SupportedMediaTypes() []runtime.SerializerInfo { return u.media }

// eventReader reads the events of a watch.
type eventReader struct{ runtime.Serializer }

// Decode makes of an event one whose object still lies in data: it must be read before data is used again, as a watch does.
func (r eventReader) Decode(data []byte, defaults *runtimeschema.GroupVersionKind, into runtime.Object) (runtime.Object, *runtimeschema.GroupVersionKind, error) {
	event, ok := into.(*metav1.WatchEvent)
	if !ok {
		return r.Serializer.Decode(data, defaults, into)
	}
	var kind string
	var object []byte
	err := eachField(data, func(f field) error {
		switch f.number {
		case 1:
			kind = f.text()
		case 2:
			return eachField(f.bytes, func(f field) error {
				if f.number == 1 {
					object = f.bytes
				}
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return r.Serializer.Decode(data, defaults, into)
	}
	event.Type, event.Object = kind, runtime.RawExtension{Raw: object}
	return event, nil, nil
}

// objectReader reads objects and lists.
type objectReader struct{ runtime.Serializer }

// Decode reads an Object or a List, into the given one if there is one.
func (r objectReader) Decode(data []byte, defaults *runtimeschema.GroupVersionKind, into runtime.Object) (runtime.Object, *runtimeschema.GroupVersionKind, error) {
	if kind, raw, err := unwrap(data); err == nil {
		if o := readable(kind, into); o != nil {
			o.Reset()
			if o.Unmarshal(raw) == nil {
				return o, &runtimeschema.GroupVersionKind{Version: "v1", Kind: kind}, nil
			}
		}
	}
	return r.Serializer.Decode(data, defaults, into)
}

type readsItself interface {
	runtime.Object
	Reset()
	Unmarshal([]byte) error
}

// readable is what an object of a kind can be read into; nil if we do not read such a kind, or not into that.
func readable(kind string, into runtime.Object) readsItself {
	single := kind == "Pod" || kind == "Service"
	if !single && kind != "PodList" && kind != "ServiceList" {
		return nil
	}
	switch o := into.(type) {
	case nil:
		if single {
			return &Object{}
		}
		return &List{}
	case *Object:
		if single {
			return o
		}
	case *List:
		if !single {
			return o
		}
	}
	return nil
}
