package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"stoic/cli/command"
	"stoic/convert"
	"stoic/convert/verdict"
	"stoic/schema"
)

// definitions are the kinds that --crd names. A folder may hold hundreds of large definitions, so only their kinds are read at first; a
// schema is built when the first object of its kind is checked. A definition that is malformed concerns objects of its kind only.
type definitions struct {
	kinds   []*definedKind
	notes   []string // what is skipped, a line each
	patches []string // the same, of patches of definitions, which are too many to list

	templates int     // files that are templates of definitions
	bad       []error // of kinds that occur
}

// definedKind is a kind that one CustomResourceDefinition defines, or several identical ones.
type definedKind struct {
	group, kind string
	places      []definitionPlace
	versions    []*version // those that are served
	read        bool
}

// definitionPlace is where a definition is. The content of a file that may not be readable twice is kept.
type definitionPlace struct {
	source  source
	line    int
	content []byte
}

func (p definitionPlace) String() string {
	return fmt.Sprintf("%s: line %d", oneLine(p.source.name), p.line)
}

// version is a served version of a custom resource.
type version struct {
	*convert.Schema // finds positions, suggestions and words
	judge           *verdict.Judge
}

// readDefinitions finds the kinds that files and folders define. Other objects in them are ignored. Each that is named must define one.
func readDefinitions(ctx context.Context, names []string, recursive bool) (*definitions, error) {
	found := &definitions{}
	for _, name := range names {
		sources, unreadable := (&sourceFlags{recursive: recursive}).sourcesOf(ctx, []string{name})
		if err := errors.Join(unreadable...); err != nil {
			return nil, &command.ExitError{Code: 2, Err: err}
		}
		defines := false
		for _, s := range sources {
			some, err := found.readSource(ctx, s)
			switch {
			case errors.Is(err, command.ErrInterrupted):
				return nil, err
			case errors.Is(err, errTemplate):
				found.templates++
			case err != nil && s.found:
				found.notes = append(found.notes, fmt.Sprintf("%s is skipped: %v", oneLine(s.name), err))
			case err != nil:
				return nil, &command.ExitError{Code: 2, Err: fmt.Errorf("--crd %s: %w", oneLine(s.name), err)}
			}
			defines = defines || some
		}
		if ctx.Err() != nil {
			return nil, command.ErrInterrupted
		}
		if !defines {
			return nil, &command.ExitError{Code: 2, Err: fmt.Errorf("--crd %s: holds no CustomResourceDefinition", oneLine(name))}
		}
	}
	return found, nil
}

// readSource adds the kinds of a file, and reports whether there was one.
func (d *definitions) readSource(ctx context.Context, s source) (some bool, err error) {
	content, err := s.read(ctx, nil)
	if err != nil || s.found && !bytes.Contains(content, []byte("CustomResourceDefinition")) {
		return false, err
	}
	if group, kind, line, ok := skimmedFile(content); ok {
		d.add(group, kind, definitionPlace{source: s, line: line, content: s.kept(content)})
		return true, nil
	}
	for _, doc := range documents(content, false) {
		doc.found = s.found
		at := definitionPlace{source: s, line: doc.line + 1, content: s.kept(content)}
		if group, kind, ok := skimmed(doc.text); ok {
			d.add(group, kind, at)
			some = true
			continue
		}
		e, err := parsedInLine(doc)
		switch {
		case err != nil && doc.isTemplate():
			return some, errTemplate
		case err != nil:
			return some, err
		}
		var wrong error
		e.each(func(e entry) {
			if list, ok := e.raw.([]any); ok && slices.ContainsFunc(list, isCRD) {
				wrong = cmp.Or(wrong, error(fmt.Errorf("line %d: %s", doc.line+1, listed())))
				return
			}
			if !isCRD(e.raw) {
				return
			}
			some = true
			fields, _ := e.raw.(map[string]any)
			if isPatch(fields) {
				d.patches = append(d.patches, at.String())
				return
			}
			group, kind := definedIn(fields)
			d.add(group, kind, at)
		})
		if wrong != nil {
			return some, wrong
		}
	}
	return some, nil
}

// kept returns the content of a file that may be a pipe, and nil for one that can be read again.
func (s source) kept(content []byte) []byte {
	if s.found {
		return nil
	}
	return content
}

var errTemplate = errors.New("a template that is not rendered")

func (d *definitions) add(group, kind string, at definitionPlace) {
	i := slices.IndexFunc(d.kinds, func(k *definedKind) bool { return k.group == group && strings.EqualFold(k.kind, kind) })
	if i < 0 {
		i, d.kinds = len(d.kinds), append(d.kinds, &definedKind{group: group, kind: kind})
	}
	d.kinds[i].places = append(d.kinds[i].places, at)
}

// definedIn returns the group and kind of a definition; empty where it has none.
func definedIn(fields map[string]any) (group, kind string) {
	spec, _ := fields["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	group, _ = spec["group"].(string)
	kind, _ = names["kind"].(string)
	return group, kind
}

// plainName matches a name that needs no quotes in YAML, and may have them.
var plainName = regexp.MustCompile(`^(?:"([A-Za-z][A-Za-z0-9.-]*)"|'([A-Za-z][A-Za-z0-9.-]*)'|([A-Za-z][A-Za-z0-9.-]*))\s*$`)

// skimmedFile is skimmed for a file of one document, with the line on which it begins. It does not split the file into lines.
func skimmedFile(content []byte) (group, kind string, line int, ok bool) {
	line = 1
	if rest, dashes := bytes.CutPrefix(content, []byte("---\n")); dashes {
		content, line = rest, 2
	}
	if bytes.Contains(content, []byte("\n---")) {
		return "", "", 0, false
	}
	group, kind, ok = skimmed(content)
	return group, kind, line, ok
}

// skimmed returns the group and kind of a definition that is written as generators write it, without parsing all of it: ok is false for
// any other text. A schema may have thousands of lines.
func skimmed(text []byte) (group, kind string, ok bool) {
	if bytes.Contains(text, []byte("\n...")) || bytes.Contains(text, []byte("\n--- ")) {
		return "", "", false // another document may follow
	}
	isDefinition, section, part := false, "", ""
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("{{")) {
			return "", "", false // a template, which is no YAML
		}
		line := string(bytes.TrimRight(line, "\r\n"))
		key, value, _ := strings.Cut(strings.TrimLeft(line, " "), ":")
		name := ""
		if m := plainName.FindStringSubmatch(strings.TrimSpace(value)); m != nil {
			name = m[1] + m[2] + m[3]
		}
		switch indent := len(line) - len(strings.TrimLeft(line, " ")); {
		case indent == 0 && key == "kind":
			if isDefinition = name == "CustomResourceDefinition"; !isDefinition {
				return "", "", false
			}
		case indent == 0 && key != "":
			section, part = line, ""
		case section != "spec:":
		case indent == 2 && key == "group":
			group = name
		case indent == 2 && key != "":
			part = line
		case indent == 4 && part == "  names:" && key == "kind":
			kind = name
		}
		if isDefinition && group != "" && kind != "" {
			return group, kind, true
		}
	}
	return "", "", false
}

// isPatch reports whether an object of kind CustomResourceDefinition only changes another one, as files in config/crd/patches of
// kubebuilder's projects do.
func isPatch(fields map[string]any) bool {
	spec, isObject := fields["spec"].(map[string]any)
	_, hasSpec := fields["spec"]
	meta, _ := fields["metadata"].(map[string]any)
	return meta["name"] != nil && (!hasSpec || isObject && spec["group"] == nil && spec["versions"] == nil)
}

// versionsOf returns the served versions of a kind; none if its definitions cannot be used, which is reported once.
func (d *definitions) versionsOf(k *definedKind) []*version {
	if k.read {
		return k.versions
	}
	k.read = true
	var first *apiextensionsv1.CustomResourceDefinition
	for _, at := range k.places {
		crd, err := at.read(k)
		switch {
		case err != nil:
		case first == nil:
			first = crd
			if k.versions, err = servedVersionsOf(crd); err != nil {
				err = fmt.Errorf("%s: %s", cmp.Or(schema.Clean(crd.Name, 253), "CustomResourceDefinition"), schema.Clean(err.Error(), 600))
			}
		case !apiequality.Semantic.DeepEqual(first.Spec, crd.Spec):
			err = fmt.Errorf("kind %s of group %s is defined differently in %s", schema.Clean(k.kind, 253), schema.Clean(k.group, 253), k.places[0])
		}
		if err != nil {
			d.bad, k.versions = append(d.bad, fmt.Errorf("--crd %s: %w", at, err)), nil
			break
		}
	}
	return k.versions
}

// read reads a definition in full.
func (p definitionPlace) read(k *definedKind) (crd *apiextensionsv1.CustomResourceDefinition, err error) {
	content := p.content
	if content == nil {
		if content, err = os.ReadFile(p.source.name); err != nil {
			return nil, err
		}
	}
	for _, doc := range documents(content, false) {
		if doc.line+1 != p.line {
			continue
		}
		e, err := parsed("", doc)
		if err != nil {
			_, p := unreadable(e, err)
			return nil, errors.New(p.String())
		}
		e.each(func(e entry) {
			fields, _ := e.raw.(map[string]any)
			group, kind := definedIn(fields)
			if crd == nil && err == nil && isCRD(e.raw) && group == k.group && strings.EqualFold(kind, k.kind) {
				crd, err = decodedDefinition(fields)
			}
		})
		if crd != nil || err != nil {
			return crd, err
		}
	}
	return nil, errors.New("the file has changed while it was read")
}

// decodedDefinition returns a definition as the API server reads it.
func decodedDefinition(fields map[string]any) (*apiextensionsv1.CustomResourceDefinition, error) {
	version, _ := fields["apiVersion"].(string)
	if want := apiextensionsv1.SchemeGroupVersion.String(); version != want {
		return nil, fmt.Errorf("apiVersion: found %s, must be %q", schema.Quote(version), want)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("write the CustomResourceDefinition as JSON: %w", err) // it was JSON before
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(text, crd); err != nil {
		return nil, fmt.Errorf("read the CustomResourceDefinition: %s", schema.Clean(err.Error(), 300))
	}
	return crd, nil
}

func servedVersionsOf(crd *apiextensionsv1.CustomResourceDefinition) ([]*version, error) {
	schemas, err := convert.Structural(crd)
	if err != nil {
		return nil, err
	}
	var versions []*version
	for i := range crd.Spec.Versions {
		if !crd.Spec.Versions[i].Served {
			continue
		}
		judge, err := verdict.New(&crd.Spec.Versions[i])
		if err != nil {
			return nil, fmt.Errorf("spec.versions[%d].%w", i, err)
		}
		versions = append(versions, &version{schemas[len(versions)], judge})
	}
	return versions, nil
}

// recognize finds the schema for an object. Problems without a schema say why it is unknown. Neither means that the object belongs to
// another API, or that its definition cannot be used. The function recognize does the same for our own kinds.
func (d *definitions) recognize(fields map[string]any) (*version, []schema.Problem) {
	apiVersion, _ := fields["apiVersion"].(string)
	kind, _ := fields["kind"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	for _, k := range d.kinds {
		if !strings.EqualFold(kind, k.kind) || group != k.group && apiVersion != "" {
			continue
		}
		versions := d.versionsOf(k)
		switch {
		case len(versions) == 0:
			return nil, nil
		case apiVersion == "":
			first := versions[0]
			return first, []schema.Problem{{Code: schema.MissingField, Path: "apiVersion", Want: "be set", Hint: `write "` + first.Resource.APIVersion() + `"`}}
		}
		return versionNamed(versions, apiVersion)
	}
	if kind == "" && slices.ContainsFunc(d.kinds, func(k *definedKind) bool { return group == k.group }) {
		return nil, []schema.Problem{{Code: schema.MissingField, Path: "kind", Want: "be set"}}
	}
	return nil, nil
}

// versionNamed returns the schema of a version.
func versionNamed(versions []*version, apiVersion string) (*version, []schema.Problem) {
	var served []string
	for _, v := range versions {
		if v.Resource.APIVersion() == apiVersion {
			return v, nil
		}
		served = append(served, schema.Quote(v.Resource.APIVersion()))
	}
	want := "be " + served[0]
	if len(served) > 1 {
		want = "be one of " + schema.Cut(strings.Join(served, ", "), 300)
	}
	return nil, []schema.Problem{{Code: schema.InvalidValue, Path: "apiVersion", Found: schema.Quote(apiVersion), Want: want}}
}

// allNotes returns what was skipped: every line if all is set.
func (d *definitions) allNotes(all bool) []string {
	notes := append(slices.Clone(d.notes), notePatches(d.patches, all)...)
	if d.templates > 0 {
		notes = append(notes, fmt.Sprintf("--crd: %s skipped as templates that are not rendered", plural(d.templates, "file")))
	}
	return notes
}

// notePatches says which patches of definitions are skipped, or how many.
func notePatches(places []string, all bool) (notes []string) {
	switch {
	case len(places) == 0:
		return nil
	case !all:
		return []string{fmt.Sprintf("patches of CustomResourceDefinitions are skipped: %d; -v lists them", len(places))}
	}
	for _, at := range places {
		notes = append(notes, at+" is skipped: it is a patch of a CustomResourceDefinition, with neither spec.group nor spec.versions")
	}
	return notes
}
