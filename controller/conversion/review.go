package conversion

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.uber.org/zap"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"stoic/convert"
	"stoic/convert/versions"
	"stoic/schema"
)

const reviewKind = "ConversionReview"

// request is what is asked in a review.
type request struct {
	uid            types.UID
	group, version string // wanted
	objects        [][]byte
}

// parse a review. What is not one is an error.
func parse(body []byte) (request, error) {
	var review apiextensionsv1.ConversionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return request{}, fmt.Errorf("must be a %s: %s", reviewKind, schema.Clean(err.Error(), mostSaid))
	}
	if want := apiextensionsv1.SchemeGroupVersion.String(); review.APIVersion != want || review.Kind != reviewKind {
		return request{}, fmt.Errorf("found %s of %s, must be %s of %s", schema.Quote(review.Kind), schema.Quote(review.APIVersion), reviewKind, want)
	}
	if review.Request == nil {
		return request{}, errors.New("it has no request")
	}
	r := request{uid: review.Request.UID, objects: make([][]byte, len(review.Request.Objects))}
	r.group, r.version, _ = strings.Cut(review.Request.DesiredAPIVersion, "/")
	for i, o := range review.Request.Objects {
		r.objects[i] = o.Raw
	}
	return r, nil
}

// mostSaid bounds what is repeated of what somebody has sent.
const mostSaid = 256

// review converts the objects of a request. An object that is not of these kinds, or a version that they do not have, is an error:
// an API server never asks for it.
func (w *Webhook) review(r request) ([]byte, error) {
	e := convert.LendEncoder()
	defer e.GiveBack()
	var out bytes.Buffer
	size := 0
	for _, raw := range r.objects {
		size += len(raw)
	}
	out.Grow(size + size/8 + 512)
	fmt.Fprintf(&out, `{"kind":%q,"apiVersion":%q,"response":{"uid":`, reviewKind, apiextensionsv1.SchemeGroupVersion)
	out.Write(e.EncodeAll(string(r.uid)))
	out.WriteString(`,"convertedObjects":[`)
	for i, raw := range r.objects {
		object, err := w.object(r, raw)
		if err != nil {
			w.metrics.objects.WithLabelValues("", "", "", outcomeRefused).Inc()
			return nil, fmt.Errorf("objects[%d]: %w", i, err)
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(e.EncodeAll(object))
	}
	out.WriteString(`],"result":{"metadata":{},"status":"` + metav1.StatusSuccess + `"}}}`)
	return out.Bytes(), nil
}

// object is one in the wanted version.
func (w *Webhook) object(r request, raw []byte) (map[string]any, error) {
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
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
	w.metrics.objects.WithLabelValues(kind, from, r.version, string(result.Outcome)).Inc()
	w.tell(kind, from, r.version, object, result)
	return result.Object, nil
}

// tell the log of what was not converted as it should be. A panic is a defect, and says where.
func (w *Webhook) tell(kind, from, to string, object map[string]any, result versions.Result) {
	if result.Outcome == versions.Converted {
		return
	}
	w.seldom.Do(func() {
		meta := convert.Meta(object)
		w.log.Warn("an object is not converted to another version and back without a loss", zap.String("kind", kind), zap.String("namespace", meta.Namespace), zap.String("name", meta.Name),
			zap.String("from", from), zap.String("to", to), zap.String("outcome", string(result.Outcome)), zap.String("why", schema.Clean(result.Why, mostSaid)), zap.ByteString("stack", result.Stack))
	})
}

// failure is the answer to a review that cannot be answered otherwise.
func failure(uid types.UID, why error) []byte {
	return schema.JSON(apiextensionsv1.ConversionReview{
		TypeMeta: metav1.TypeMeta{Kind: reviewKind, APIVersion: apiextensionsv1.SchemeGroupVersion.String()},
		Response: &apiextensionsv1.ConversionResponse{UID: uid, Result: metav1.Status{Status: metav1.StatusFailure, Message: schema.Clean(why.Error(), 4*mostSaid)}}})
}
