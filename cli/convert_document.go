package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"stoic/convert"
	"stoic/schema"
	"stoic/training/versions/offline"
)

// document converts and prints one document. It omits a document that contains nothing to convert, and templates in folders.
func (c *converting) document(file string, doc document) {
	e, err := parsed(file, doc)
	if err != nil && doc.isTemplate() {
		c.templates++
		return
	}
	if err != nil {
		at, p := unreadable(e, err)
		c.failed++
		c.say(e, at, "error", p.String()+" ["+string(p.Code)+"]")
		return
	}
	before := c.converted + c.failed
	if value, moved, ok := c.value(e); ok {
		c.print(e, value, moved, c.converted+c.failed > before)
	}
}

// value converts one object, or those in a list.
func (c *converting) value(e entry) (value any, moved []offline.Moved, ok bool) {
	if items, list := itemsOf(e.raw); list {
		return c.list(e, items)
	}
	return c.object(e)
}

// object converts one object.
func (c *converting) object(e entry) (value any, moved []offline.Moved, ok bool) {
	fields, ok := e.raw.(map[string]any)
	if !ok {
		c.refused(e, []schema.Problem{{Code: schema.TypeMismatch, Found: convert.Found(e.raw), Want: "be an object"}})
		return nil, nil, false
	}
	result, problems := offline.Convert(fields, offline.Options{GPUsPerNode: c.gpusPerNode, FromServed: c.to == "v1"})
	switch {
	case len(problems) > 0:
		c.refused(e, problems)
		return nil, nil, false
	case result.Form == "":
		c.same++
		return result.Object, nil, true
	}
	c.converted++
	c.lossy = c.lossy || len(result.Lost) > 0
	for _, n := range result.Lost {
		c.note(e, "lost", n)
	}
	for _, n := range result.Filled {
		c.note(e, "filled", n)
	}
	for _, m := range result.Moved {
		moved = append(moved, offline.Moved{From: joined(e.prefix, m.From), To: joined(e.prefix, m.To)})
	}
	return result.Object, moved, true
}

// list converts the objects in a list, and omits those that cannot be converted.
func (c *converting) list(e entry, items []any) (value any, moved []offline.Moved, ok bool) {
	before, kept := c.converted, []any{}
	for i, item := range items {
		e, to := e.item(i, item), e.item(len(kept), item).prefix
		object, further, ok := c.value(e)
		if !ok {
			continue
		}
		if to != e.prefix {
			moved = append(moved, offline.Moved{From: e.prefix, To: to})
		}
		for _, m := range further {
			moved = append(moved, offline.Moved{From: m.From, To: to + strings.TrimPrefix(m.To, e.prefix)})
		}
		kept = append(kept, object)
	}
	fields, _ := e.raw.(map[string]any)
	whole := maps.Clone(fields)
	whole["items"] = kept
	if version, _ := whole["apiVersion"].(string); version != "v1" && c.converted > before { // TFJobList of kubeflow.org/v1beta2
		whole["apiVersion"] = "kubeflow.org/v1"
	}
	return whole, moved, len(kept) > 0 || len(items) == 0
}

func joined(prefix, path string) string {
	switch {
	case prefix == "":
		return path
	case path == "":
		return prefix
	}
	return prefix + "." + path
}

// refused reports why an object is omitted.
func (c *converting) refused(e entry, problems []schema.Problem) {
	c.failed++
	for _, p := range problems {
		at := find(e.node, joined(e.prefix, p.Path), false)
		c.say(e, at, "error", p.String()+" ["+string(p.Code)+"]")
	}
}

func (c *converting) note(e entry, what string, n offline.Note) {
	c.say(e, find(e.node, joined(e.prefix, n.Path), true), what, n.Path+": "+n.Text)
}

func (c *converting) say(e entry, at place, what, text string) {
	line, column := e.doc.position(at)
	fmt.Fprintf(&c.talk, "%s:%d:%d: %s: %s\n", oneLine(e.file), line, column, what, text)
}

// print writes a document in the output format. An unchanged YAML document is printed as it was read.
func (c *converting) print(e entry, value any, moved []offline.Moved, changed bool) {
	if c.output == "json" {
		encoder := json.NewEncoder(&c.out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(value); err != nil {
			c.unwritten(e, err)
		}
		return
	}
	c.endLine()
	if c.out.Len() > 0 && !bytes.HasPrefix(e.doc.before, []byte("---")) {
		c.out.WriteString("---\n")
	}
	c.out.Write(e.doc.before)
	if e.doc.file != "" {
		c.out.WriteString("# Source: " + e.doc.file + "\n")
	}
	c.printText(e, value, moved, changed)
	if len(e.doc.after) > 0 {
		c.endLine()
		c.out.Write(e.doc.after)
	}
}

// endLine ends the last printed line, if it has no line end.
func (c *converting) endLine() {
	if c.out.Len() > 0 && !bytes.HasSuffix(c.out.Bytes(), []byte("\n")) {
		c.out.WriteByte('\n')
	}
}

func (c *converting) printText(e entry, value any, moved []offline.Moved, changed bool) {
	isJSON := bytes.HasPrefix(bytes.TrimSpace(e.doc.text), []byte("{"))
	switch {
	case changed:
		text, kept, err := rewritten(e, value, moved)
		if err != nil {
			c.unwritten(e, err)
			return
		}
		if !kept && !isJSON && slices.Contains(e.doc.text, '#') {
			c.say(e, place{line: 1, column: 1}, "lost", "comments and order, as this text cannot be changed in place")
		}
		c.out.Write(text)
	case isJSON:
		text, err := yaml.Marshal(value)
		if err != nil {
			c.unwritten(e, err)
			return
		}
		c.out.Write(text)
	default:
		c.out.Write(e.doc.text) // the ends of lines, too: they may be part of a value
	}
}

// unwritten reports a document that cannot be written. What was read as JSON can be written, so this is a defect.
func (c *converting) unwritten(e entry, err error) {
	c.failed++
	c.say(e, place{line: 1, column: 1}, "error", "write the document: "+schema.Clean(err.Error(), 200))
}
