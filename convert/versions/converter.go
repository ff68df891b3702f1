package versions

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"stoic/schema"
)

// Converter converts objects of one kind. It holds no state and may be used by several goroutines.
type Converter struct {
	kind  Kind
	steps map[[2]string]*step // by the versions from and to, of which one is the hub
}

// Kind returns the kind that it was made from.
func (c *Converter) Kind() Kind { return c.kind }

// Versions returns all versions of the kind, the hub first.
func (c *Converter) Versions() []string {
	all := []string{c.kind.Hub}
	for _, v := range c.kind.Versions {
		all = append(all, v.Name)
	}
	return all
}

// VersionOf returns the version of an object. It returns an error for an object of another kind, or of a version that is not
// served.
func (c *Converter) VersionOf(object map[string]any) (string, error) {
	kind, _ := object["kind"].(string)
	apiVersion, _ := object["apiVersion"].(string)
	group, version, _ := strings.Cut(apiVersion, "/")
	if kind != c.kind.Name || group != c.kind.Group {
		return "", fmt.Errorf("found apiVersion %s and kind %s, must be an object of kind %s of group %s", schema.Quote(apiVersion), schema.Quote(kind), c.kind.Name, c.kind.Group)
	}
	if err := c.Knows(version); err != nil {
		return "", err
	}
	return version, nil
}

// Knows returns an error if a version is not one of the kind.
func (c *Converter) Knows(version string) error {
	if all := c.Versions(); !slices.Contains(all, version) {
		return fmt.Errorf("found version %s of %s, must be one of %s", schema.Quote(version), c.kind.Name, strings.Join(all, ", "))
	}
	return nil
}

// Convert returns an object in another version. It does not change the given object, and the same object gives the same result. It
// returns an error only for objects of another kind, and for unknown versions.
func (c *Converter) Convert(object map[string]any, to string) (result Result, err error) {
	from, err := c.VersionOf(object)
	if err != nil {
		return Result{}, err
	}
	if err := c.Knows(to); err != nil {
		return Result{}, err
	}
	defer func() {
		if p := recover(); p != nil {
			result = Result{Object: c.renamed(object, to), Outcome: Panicked, Why: fmt.Sprint(p), Stack: debug.Stack()}
		}
	}()
	if from == to {
		return Result{Object: object, Outcome: Converted}, nil
	}
	return c.convert(object, from, to), nil
}

// convert converts by way of the hub.
func (c *Converter) convert(object map[string]any, from, to string) Result {
	r := Result{Object: c.renamed(object, to), Outcome: PassedThrough}
	meta, _ := object["metadata"].(map[string]any)
	annotations, ok := meta["annotations"].(map[string]any)
	if meta == nil || !ok && meta["annotations"] != nil {
		r.Why = "it has no metadata that an annotation could stand in"
		return r
	}
	text, _ := annotations[c.kind.Annotation].(string)
	kept := read(text)
	before := kept.text()
	r.Outcome = Converted
	for _, hop := range c.hops(from, to) {
		s := c.steps[hop]
		if s.tooDeep(r.Object) {
			r.Outcome, r.Why = PassedThrough, fmt.Sprintf("what %s or %s has no place for is nested too deep", s.from, s.to)
			continue
		}
		made := s.run(r.Object, kept.entry(s.to))
		r.Object, kept = made.object, kept.with(s.to, entry{}).with(s.from, made.entry)
		r.Lost, r.Filled = append(r.Lost, made.places...), slices.Sorted(maps.Keys(made.filled))
	}
	if after := kept.text(); after != before {
		c.annotate(&r, meta, annotations, after)
	}
	return r
}

// annotate writes the annotation; an empty text removes it.
func (c *Converter) annotate(r *Result, meta, annotations map[string]any, text string) {
	changed := maps.Clone(annotations)
	if changed == nil {
		changed = map[string]any{}
	}
	if changed[c.kind.Annotation] = text; text == "" {
		delete(changed, c.kind.Annotation)
	}
	if why := refused(changed); why != "" {
		r.Outcome, r.Why = NotKept, why
		return
	}
	meta = maps.Clone(meta)
	if meta["annotations"] = changed; len(changed) == 0 {
		delete(meta, "annotations")
	}
	r.Object["metadata"] = meta
}

// hops returns the conversions that lead from one version to another.
func (c *Converter) hops(from, to string) [][2]string {
	if from == c.kind.Hub || to == c.kind.Hub {
		return [][2]string{{from, to}}
	}
	return [][2]string{{from, c.kind.Hub}, {c.kind.Hub, to}}
}

// renamed returns a copy of the object with another apiVersion.
func (c *Converter) renamed(object map[string]any, to string) map[string]any {
	object = maps.Clone(object)
	object["apiVersion"] = c.kind.Group + "/" + to
	return object
}
