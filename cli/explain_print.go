package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"stoic/schema"
)

// print returns everything about the field, in the format of kubectl explain.
func (t topic) print(recursive bool) string {
	return fmt.Sprintf("KIND:     %s\nVERSION:  %s\n", cmp.Or(t.kinds, t.manual.kind.Name), t.manual.kind.APIVersion()) + t.about(recursive)
}

// about returns the description of the field itself.
func (t topic) about(recursive bool) string {
	var b strings.Builder
	if t.shown != "" {
		fmt.Fprintf(&b, "\nFIELD: %s %s%s\n", t.shown, t.field.kind(), t.mark())
	}
	section(&b, "DESCRIPTION", wrapped(cmp.Or(t.field.Description, t.field.below().Description)))
	section(&b, "DEFAULT", wrapped(t.fallback()))
	section(&b, "ENUM", strings.Join(t.field.enum(), "\n"))
	section(&b, "RANGE", t.span())
	var rules []string
	for _, rule := range t.field.Rules {
		rules = append(rules, rule.Message)
	}
	section(&b, "RULES", strings.Join(rules, "\n"))
	if keys := t.keys(); len(keys) > 0 {
		text := strings.Join(keys, ", ")
		if t.manual.kind.AnyCase {
			text += ", in any case"
		}
		section(&b, "KEYS", text)
	}
	if len(t.field.below().Properties) == 0 {
		return b.String()
	}
	b.WriteString("\nFIELDS:\n")
	if recursive {
		t.tree(&b, "  ")
		return b.String()
	}
	t.table(&b)
	return b.String()
}

// children returns the fields below, without keys and indices in their paths.
func (t topic) children() (all []topic) {
	for _, name := range t.field.below().names() {
		if child, ok := t.down(name); ok {
			all = append(all, child)
		}
	}
	return all
}

func (t topic) name() string { return t.path[strings.LastIndexByte(t.path, '.')+1:] }

func (t topic) mark() string {
	if t.required || !t.element && t.manual.fallback(t.path).Required {
		return " -required-"
	}
	return ""
}

func (t topic) table(b *strings.Builder) {
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, child := range t.children() {
		fmt.Fprintf(table, "  %s\t%s%s\t%s\n", child.name(), child.field.kind(), child.mark(), child.field.Description)
	}
	_ = table.Flush() // into memory
}

func (t topic) tree(b *strings.Builder, indent string) {
	for _, child := range t.children() {
		b.WriteString(indent + child.name() + " " + child.field.kind() + child.mark() + "\n")
		child.tree(b, indent+"  ")
	}
}

// fallback returns what happens without the field. The operator's statement takes precedence over that of the CRD.
func (t topic) fallback() string {
	if t.element {
		return ""
	}
	d := t.manual.fallback(t.path)
	value := ""
	switch {
	case d.Value != "":
		value = readable(json.RawMessage(d.Value))
	case d.Means == "" && t.field.Default != nil:
		value = readable(t.field.Default)
	}
	if value != "" && d.Means != "" {
		return value + ": " + d.Means
	}
	return value + d.Means
}

// enum lists the values; an empty list means no restriction.
func (f *field) enum() (values []string) {
	for _, v := range f.Enum {
		values = append(values, readable(v))
	}
	return values
}

// span returns the range of a number. A replica type may allow one value only.
func (t topic) span() string {
	if t.rtype != nil && t.rtype.Only != 0 && t.path == "spec."+t.manual.kind.ReplicaSpecsField+".replicas" {
		return strconv.Itoa(int(t.rtype.Only)) + " only"
	}
	return t.field.span()
}

func (f *field) span() string {
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	switch {
	case f.Minimum != nil && f.Maximum != nil:
		return "from " + number(*f.Minimum) + " to " + number(*f.Maximum)
	case f.Minimum != nil:
		return "at least " + number(*f.Minimum)
	case f.Maximum != nil:
		return "at most " + number(*f.Maximum)
	}
	return ""
}

// readable writes a value as a user would: plain words without quotes.
func readable(v any) string {
	text := string(schema.JSON(v))
	if word, err := strconv.Unquote(text); err == nil && word != "" {
		return word
	}
	return text
}
