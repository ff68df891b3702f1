package monitoring

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"

	"stoic/deploy/monitoring"
	"stoic/test/bench/plot"
)

// Sizes of a picture: three graphs in a row, six numbers.
const (
	pictureWidth          = 1440
	graphWidth            = pictureWidth / 3
	graphHeight           = graphWidth * 400 / 720 // as plot.Chart has it
	numberWidth           = pictureWidth / 6
	numberHeight          = 100
	headHeight, rowHeight = 60, 36
	mostLines             = 8
)

// Picture draws a dashboard with the data of its panels.
func Picture(d monitoring.Dashboard, r *Record) ([]byte, error) {
	at := slices.IndexFunc(r.Dashboards, func(s Shown) bool { return s.Name == d.Name })
	if at < 0 {
		return nil, fmt.Errorf("nothing is recorded of the dashboard %s", d.Name)
	}
	shown := r.Dashboards[at]
	p := &picture{}
	p.text(16, 36, 22, "bold", d.Title)
	p.text(pictureWidth*2/5, 36, 13, "normal", fmt.Sprintf("%s, commit %s; Kubernetes %s, Prometheus %s, two processes under the load of make monitoring", r.Date, r.Commit, r.Kubernetes, r.Prometheus))
	y := headHeight
	for _, row := range d.Rows {
		p.text(16, y+24, 16, "bold", row.Title)
		x, height := 0, 0
		y += rowHeight
		for _, panel := range row.Panels {
			at := slices.IndexFunc(shown.Panels, func(s PanelShown) bool { return s.Title == panel.Title })
			if at < 0 {
				return nil, fmt.Errorf("nothing is recorded of the panel %q", panel.Title)
			}
			w, h := graphWidth, graphHeight
			if panel.Number {
				w, h = numberWidth, numberHeight
			}
			if x+w > pictureWidth || height > 0 && h != height {
				x, y = 0, y+height
			}
			p.panel(x, y, panel, shown.Panels[at].Series)
			x, height = x+w, h
		}
		y += height
	}
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="Helvetica, Arial, sans-serif" fill="#222">
<title>%s</title>
<rect width="100%%" height="100%%" fill="#fff"/>
%s</svg>
`, pictureWidth, y+16, html.EscapeString(d.Title), p.out.String()), nil
}

type picture struct{ out strings.Builder }

func (p *picture) text(x, y, size int, weight, text string) {
	fmt.Fprintf(&p.out, "<text x=\"%d\" y=\"%d\" font-size=\"%d\" font-weight=\"%s\">%s</text>\n", x, y, size, weight, html.EscapeString(text))
}

func (p *picture) panel(x, y int, panel monitoring.Panel, series []Series) {
	if panel.Number {
		fmt.Fprintf(&p.out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#ddd\"/>\n", x+8, y, numberWidth-16, numberHeight-8)
		p.text(x+20, y+24, 13, "normal", panel.Title)
		var values []string
		for _, s := range series {
			scale, name := scaled(panel.Unit, math.Inf(1))
			values = append(values, strings.TrimSpace(strconv.FormatFloat(s.Points[len(s.Points)-1].Value*scale, 'f', -1, 64)+" "+name))
			if panel.Title == "Version" {
				values[len(values)-1] += " x " + s.Name
			}
		}
		p.text(x+20, y+64, 22, "bold", strings.Join(values, ", "))
		return
	}
	svg := string(chartOf(panel, series).SVG())
	svg = strings.Replace(svg, "<svg ", fmt.Sprintf(`<svg x="%d" y="%d" width="%d" height="%d" `, x, y, graphWidth, graphHeight), 1)
	p.out.WriteString(svg)
}

// chartOf returns the chart of a panel: the highest lines, in minutes and in a unit that readers understand.
func chartOf(panel monitoring.Panel, series []Series) plot.Chart {
	highest := func(s Series) float64 {
		return slices.MaxFunc(s.Points, func(a, b Point) int { return cmp.Compare(a.Value, b.Value) }).Value
	}
	series = slices.Clone(series)
	slices.SortStableFunc(series, func(a, b Series) int { return cmp.Compare(highest(b), highest(a)) })
	c := plot.Chart{Title: panel.Title, XName: "minutes"}
	if len(series) > mostLines {
		c.Note = fmt.Sprintf("the highest %d of %d", mostLines, len(series))
		series = series[:mostLines]
	}
	scale, unit := scaled(panel.Unit, highest(series[0]))
	c.YName = unit
	for _, s := range series {
		line := plot.Line{Name: short(s.Name)}
		for _, at := range s.Points {
			line.Points = append(line.Points, plot.Point{X: at.Seconds / 60, Y: at.Value * scale})
		}
		c.Lines = append(c.Lines, line)
	}
	return c
}

// scaled returns a factor for values of a unit, and the resulting unit.
func scaled(u monitoring.Unit, highest float64) (float64, string) {
	switch {
	case u == monitoring.Seconds && highest < 1:
		return 1000, "ms"
	case u == monitoring.Seconds:
		return 1, "s"
	case u == monitoring.Bytes:
		return 1e-6, "MB"
	case u == monitoring.Share:
		return 100, "%"
	case u == monitoring.PerSecond:
		return 1, "per second"
	}
	return 1, ""
}

// short shortens a name for the legend.
func short(name string) string {
	const most = 20
	if letters := []rune(name); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return name
}
