package convert

import (
	"fmt"
	"slices"
	"strconv"

	"stoic/convert"
	"stoic/schema"
	"stoic/training"
)

// annotations returns the legal values of the kind's annotations, and warns of others, which are ignored: an annotation may
// be older than the operator, and must not reject a job.
func (r *reader) annotations(written map[string]any, rtypes []draft) map[string]int64 {
	var legal map[string]int64
	for _, known := range r.kind.Annotations {
		raw, isSet := written[known.Name]
		if !isSet {
			continue
		}
		most := known.Most
		if i := slices.IndexFunc(rtypes, func(d draft) bool { return d.Name == known.MostOf }); i >= 0 {
			most = int64(rtypes[i].Replicas)
		}
		text, _ := raw.(string)
		value, err := strconv.ParseInt(text, 10, 64)
		if err == nil && value >= 1 && value <= most {
			if legal == nil {
				legal = map[string]int64{}
			}
			legal[known.Name] = value
			continue
		}
		r.warnOfAnnotation(known, raw, most)
	}
	return legal
}

func (r *reader) warnOfAnnotation(known training.NumberAnnotation, raw any, most int64) {
	found := convert.Found(raw)
	if text, isText := raw.(string); isText {
		found = schema.Quote(text)
	}
	want := fmt.Sprintf("be a whole number from 1 to %d", most)
	switch {
	case known.MostOf != "" && most < 1:
		want = "be left out, as there is no " + known.MostOf
	case known.MostOf != "":
		want += ", the number of replicas of " + known.MostOf
	}
	r.Take(nil, []schema.Problem{{Code: schema.InvalidValue, Path: convert.Path("metadata", "annotations", known.Name), Found: found, Want: want,
		Hint: "it is ignored"}})
}
