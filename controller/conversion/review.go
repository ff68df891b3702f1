package conversion

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.uber.org/zap"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"stoic/convert"
	"stoic/convert/versions"
	"stoic/internal/lean"
	"stoic/schema"
)

const reviewKind = "ConversionReview"

// request is what a review asks for.
type request struct {
	uid            types.UID
	group, version string          // wanted
	objects        json.RawMessage // an array; empty if there is none
	cut            bool            // it had more levels than can be read; what was below them is left out
}

// review is a ConversionReview whose objects are parsed one by one: so many values in one array would take sixty times the memory.
type review struct {
	metav1.TypeMeta `json:",inline"`
	Request         *struct {
		UID               types.UID       `json:"uid"`
		DesiredAPIVersion string          `json:"desiredAPIVersion"`
		Objects           json.RawMessage `json:"objects"`
	} `json:"request"`
}

// parse parses a review; anything else is an error. An API server stores objects of as many levels as can be read; a review that contains
// such an object has more. It is then read without what is too deep, so that objects beside that one can be read in the requested
// version.
func parse(body []byte) (request, error) {
	var asked review
	cut := false
	err := utiljson.Unmarshal(body, &asked)
	if err != nil {
		if shallow := lean.Shallow(body); len(shallow) < len(body) {
			asked, cut = review{}, true
			err = utiljson.Unmarshal(shallow, &asked)
		}
	}
	if err != nil {
		return request{}, fmt.Errorf("must be a %s: %s", reviewKind, schema.Clean(err.Error(), mostSaid))
	}
	if want := apiextensionsv1.SchemeGroupVersion.String(); asked.APIVersion != want || asked.Kind != reviewKind {
		return request{}, fmt.Errorf("found %s of %s, must be %s of %s", schema.Quote(asked.Kind), schema.Quote(asked.APIVersion), reviewKind, want)
	}
	if asked.Request == nil {
		return request{}, errors.New("it has no request")
	}
	r := request{uid: asked.Request.UID, objects: asked.Request.Objects, cut: cut}
	if string(r.objects) == "null" {
		r.objects = nil
	}
	if len(r.objects) > 0 && r.objects[0] != '[' {
		return request{}, fmt.Errorf("must be a %s: request.objects must be an array", reviewKind)
	}
	r.group, r.version, _ = strings.Cut(asked.Request.DesiredAPIVersion, "/")
	return r, nil
}

// mostSaid bounds how much of a client's text is repeated.
const mostSaid = 256

// review converts the objects of a request. An object that is not of these kinds, or a version that they do not have, is an error: an API
// server never requests it.
func (w *Webhook) review(ctx context.Context, r request) ([]byte, error) {
	e := convert.LendEncoder()
	defer e.GiveBack()
	var out bytes.Buffer
	out.Grow(len(r.objects) + len(r.objects)/8 + 512)
	fmt.Fprintf(&out, `{"kind":%q,"apiVersion":%q,"response":{"uid":`, reviewKind, apiextensionsv1.SchemeGroupVersion)
	out.Write(e.EncodeAll(string(r.uid)))
	out.WriteString(`,"convertedObjects":[`)
	i := 0
	for raw := range lean.Elements(r.objects) {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := w.write(ctx, &out, e, r, raw); errors.Is(err, errNoRoom) {
			return nil, err
		} else if err != nil {
			w.metrics.objects.WithLabelValues("", "", "", outcomeRefused).Inc()
			return nil, fmt.Errorf("objects[%d]: %w", i, err)
		}
		i++
	}
	out.WriteString(`],"result":{"metadata":{},"status":"` + metav1.StatusSuccess + `"}}}`)
	return out.Bytes(), nil
}

// write writes one object in the requested version. Its decoded form is held only meanwhile.
func (w *Webhook) write(ctx context.Context, out *bytes.Buffer, e *convert.Encoder, r request, raw []byte) error {
	size := int64(len(raw))
	if size > mostObject {
		return fmt.Errorf("it has %d bytes, must have at most %d", size, mostObject)
	}
	if w.objects.Acquire(ctx, size) != nil {
		return errNoRoom
	}
	defer w.objects.Release(size)
	object, err := w.object(r, raw)
	if err != nil {
		return err
	}
	out.Write(e.EncodeAll(object))
	return nil
}

// object returns an object in the requested version.
func (w *Webhook) object(r request, raw []byte) (map[string]any, error) {
	var object map[string]any
	if err := utiljson.Unmarshal(raw, &object); err != nil || object == nil {
		return nil, errors.New("must be an object") // what it is may be secret
	}
	kind, _ := object["kind"].(string)
	converter := w.kinds[[2]string{r.group, kind}]
	if converter == nil {
		return nil, fmt.Errorf("found kind %s of group %s, which is not converted here", schema.Quote(kind), schema.Quote(r.group))
	}
	from, err := converter.VersionOf(object)
	if err != nil {
		return nil, err
	}
	result, err := converter.Convert(object, r.version)
	if err != nil {
		return nil, err
	}
	if r.cut && result.Outcome != versions.Panicked {
		result.Outcome, result.Why = outcomeCut, "what is nested deeper than can be read is left out"
	}
	w.metrics.objects.WithLabelValues(kind, from, r.version, string(result.Outcome)).Inc()
	w.logLoss(kind, from, r.version, object, result)
	return result.Object, nil
}

// logLoss logs what was not converted as it should be. A panic is a defect, so its stack is logged.
func (w *Webhook) logLoss(kind, from, to string, object map[string]any, result versions.Result) {
	if result.Outcome == versions.Converted {
		return
	}
	w.seldom.Do(func() {
		meta := convert.Meta(object)
		w.log.Warn("an object is not converted to another version and back without a loss", zap.String("kind", kind), zap.String("namespace", meta.Namespace), zap.String("name", meta.Name),
			zap.String("from", from), zap.String("to", to), zap.String("outcome", string(result.Outcome)), zap.String("why", schema.Clean(result.Why, mostSaid)), zap.ByteString("stack", result.Stack))
	})
}

// failure returns the answer to a review that cannot be answered otherwise.
func failure(uid types.UID, why error) []byte {
	return schema.JSON(apiextensionsv1.ConversionReview{
		TypeMeta: metav1.TypeMeta{Kind: reviewKind, APIVersion: apiextensionsv1.SchemeGroupVersion.String()},
		Response: &apiextensionsv1.ConversionResponse{UID: uid, Result: metav1.Status{Status: metav1.StatusFailure, Message: schema.Clean(why.Error(), 4*mostSaid)}}})
}
