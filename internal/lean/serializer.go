package lean

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// uncopied decodes what a watch brings in place. The library copies it twice before it decodes any of it: once out of the event, once out
// of the envelope. That was a sixth of all bytes that the operator allocated.
//
//	protobuf   watch   WatchEvent{type, object: "k8s\0" Unknown{kind, raw: Pod}}
//	           list                             "k8s\0" Unknown{kind, raw: PodList}
//	JSON       watch   {"type": ..., "object": {...}}
//
// Everything else is left to the library: a Status, malformed data, other encodings.
type uncopied struct {
	runtime.NegotiatedSerializer
	media []runtime.SerializerInfo
}

// uncopiedProtobuf decodes pods and services, with these labels and annotations of them; nil is all.
func uncopiedProtobuf(library runtime.NegotiatedSerializer, names []string) uncopied {
	return readingOtherwise(library, runtime.ContentTypeProtobuf, func(objects *runtime.Serializer, events *runtime.StreamSerializerInfo) {
		*objects, events.Serializer = objectReader{*objects, names}, eventReader{events.Serializer}
	})
}

// uncopiedJSON decodes untyped objects.
func uncopiedJSON(library runtime.NegotiatedSerializer) uncopied {
	return readingOtherwise(library, runtime.ContentTypeJSON, func(objects *runtime.Serializer, events *runtime.StreamSerializerInfo) {
		*objects, events.Serializer, events.Framer = untypedObjects{*objects}, untypedEvents{events.Serializer}, shallowFrames{events.Framer}
	})
}

func readingOtherwise(library runtime.NegotiatedSerializer, mediaType string, replace func(objects *runtime.Serializer, events *runtime.StreamSerializerInfo)) uncopied {
	media := slices.Clone(library.SupportedMediaTypes())
	for i, m := range media {
		if m.MediaType == mediaType && m.StreamSerializer != nil {
			stream := *m.StreamSerializer
			replace(&media[i].Serializer, &stream)
			media[i].StreamSerializer = &stream
		}
	}
	return uncopied{library, media}
}

// SupportedMediaTypes are those of the library.
func (u uncopied) SupportedMediaTypes() []runtime.SerializerInfo { return u.media }

// eventReader reads the events of a watch.
type eventReader struct{ runtime.Serializer }

// Decode makes an event whose object still is a part of data: it must be read before data is used again, as a watch does.
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
type objectReader struct {
	runtime.Serializer
	names []string
}

// Decode reads an Object or a List, into the given one if there is one.
func (r objectReader) Decode(data []byte, defaults *runtimeschema.GroupVersionKind, into runtime.Object) (runtime.Object, *runtimeschema.GroupVersionKind, error) {
	if kind, raw, err := unwrap(data); err == nil {
		if o := r.readable(kind, into); o != nil {
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

// readable returns what an object of a kind can be read into; nil if we do not read such a kind, or not into that.
func (r objectReader) readable(kind string, into runtime.Object) readsItself {
	single := kind == "Pod" || kind == "Service"
	if !single && kind != "PodList" && kind != "ServiceList" {
		return nil
	}
	switch o := into.(type) {
	case nil:
		if single {
			return &Object{names: r.names}
		}
		return &List{names: r.names}
	case *Object:
		if single {
			o.names = r.names
			return o
		}
	case *List:
		if !single {
			o.names = r.names
			return o
		}
	}
	return nil
}
