package monitoring

import (
	"encoding/json"
	"fmt"
)

// Dashboard is a page of Grafana.
type Dashboard struct {
	// Name of its file, and part of its address in Grafana.
	Name, Title, Description string
	Variables                []Variable
	Rows                     []Row
}

// Variable is chosen above a dashboard: one value of a label, several, or all.
type Variable struct{ Label, Title, Metric string }

// Row of panels below a heading.
type Row struct {
	Title  string
	Panels []Panel
}

// Panel shows some expressions.
type Panel struct {
	Title, Description string
	Unit               Unit
	// Number: the last value is shown as a number, not a graph over time.
	Number bool
	// Stacked: the lines are parts of a sum.
	Stacked bool
	Queries []Query
}

// Query is an expression and how each of its series is named; {{label}} stands for the value of a label.
type Query struct{ Expression, Legend string }

// Unit is one of Grafana's.
type Unit string

const (
	Count     Unit = "short"
	Seconds   Unit = "s"
	Bytes     Unit = "bytes"
	Share     Unit = "percentunit"
	PerSecond Unit = "ops"
	Cores     Unit = "none"
)

// Sizes in Grafana's grid.
const (
	gridWidth, rowHeight      = 24, 1
	graphWidth, graphHeight   = 8, 8
	numberWidth, numberHeight = 4, 4
)

// Dashboards are all of them.
func Dashboards() []Dashboard { return []Dashboard{operatorDashboard(), jobsDashboard()} }

// selected keeps the series of the operators that are chosen above the dashboard.
const selected = `namespace=~"$namespace", job=~"$job"`

func operatorVariables() []Variable {
	return []Variable{{"namespace", "Operator's namespace", build}, {"job", "Operator", build}}
}

// JSON is what Grafana imports.
func (d Dashboard) JSON() ([]byte, error) {
	content := map[string]any{
		"uid": "training-operator-" + d.Name, "title": d.Title, "description": d.Description, "tags": []string{"training-operator"},
		"schemaVersion": 39, "version": 1, "editable": true, "graphTooltip": 1, "refresh": "30s", "timezone": "browser",
		"time":        map[string]string{"from": "now-6h", "to": "now"},
		"annotations": map[string]any{"list": []any{}}, "links": []any{},
		"templating": map[string]any{"list": d.variables()},
		"panels":     d.panels(),
	}
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the dashboard %s: %w", d.Name, err)
	}
	return append(text, '\n'), nil
}

func source() map[string]string {
	return map[string]string{"type": "prometheus", "uid": "${datasource}"}
}

func (d Dashboard) variables() []any {
	all := []any{map[string]any{"type": "datasource", "name": "datasource", "label": "Prometheus", "query": "prometheus", "refresh": 1, "hide": 0}}
	for _, v := range d.Variables {
		query := fmt.Sprintf("label_values(%s, %s)", v.Metric, v.Label)
		all = append(all, map[string]any{"type": "query", "name": v.Label, "label": v.Title, "datasource": source(),
			"query": map[string]any{"query": query, "refId": "A"}, "definition": query, "refresh": 2, "sort": 1, "hide": 0,
			"multi": true, "includeAll": true, "allValue": ".*", "current": map[string]any{"text": []string{"All"}, "value": []string{"$__all"}}})
	}
	return all
}

// panels from left to right and from top to bottom.
func (d Dashboard) panels() []any {
	var all []any
	id, x, y := 0, 0, 0
	next := func() int { id++; return id }
	for _, r := range d.Rows {
		all = append(all, map[string]any{"id": next(), "type": "row", "title": r.Title, "collapsed": false, "panels": []any{},
			"gridPos": map[string]int{"x": 0, "y": y, "w": gridWidth, "h": rowHeight}})
		x, y = 0, y+rowHeight
		high := 0
		for _, p := range r.Panels {
			w, h := graphWidth, graphHeight
			if p.Number {
				w, h = numberWidth, numberHeight
			}
			if x+w > gridWidth || high > 0 && h != high {
				x, y = 0, y+high
			}
			all = append(all, p.json(next(), map[string]int{"x": x, "y": y, "w": w, "h": h}))
			x, high = x+w, h
		}
		y += high
	}
	return all
}

func (p Panel) json(id int, at map[string]int) map[string]any {
	var targets []any
	for i, q := range p.Queries {
		targets = append(targets, map[string]any{"refId": string(rune('A' + i)), "datasource": source(), "expr": q.Expression, "legendFormat": q.Legend,
			"range": !p.Number, "instant": p.Number, "editorMode": "code"})
	}
	defaults := map[string]any{"unit": string(p.Unit), "min": 0}
	out := map[string]any{"id": id, "title": p.Title, "description": p.Description, "datasource": source(), "gridPos": at, "targets": targets,
		"fieldConfig": map[string]any{"defaults": defaults, "overrides": []any{}}}
	if p.Number {
		out["type"] = "stat"
		out["options"] = map[string]any{"colorMode": "none", "graphMode": "area", "textMode": "auto", "reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}, "fields": "", "values": false}}
		return out
	}
	out["type"] = "timeseries"
	custom := map[string]any{"drawStyle": "line", "lineWidth": 1, "fillOpacity": 10, "showPoints": "never", "spanNulls": false, "stacking": map[string]any{"mode": "none", "group": "A"}}
	if p.Stacked {
		custom["fillOpacity"], custom["stacking"] = 40, map[string]any{"mode": "normal", "group": "A"}
	}
	defaults["custom"] = custom
	out["options"] = map[string]any{"legend": map[string]any{"displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": []any{}}, "tooltip": map[string]any{"mode": "multi", "sort": "desc"}}
	return out
}
