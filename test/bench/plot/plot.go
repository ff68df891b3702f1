package plot

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// Chart has lines over numbers.
type Chart struct {
	Title, Note  string
	XName, YName string
	// LogX spreads the x axis by powers of ten; all x must then be positive.
	LogX  bool
	Lines []Line
	// Bound is drawn as a dashed line with its name; 0 for none.
	Bound     float64
	BoundName string
}

// Line of points, which are given from left to right.
type Line struct {
	Name   string
	Points []Point
}

// Point of a line.
type Point struct{ X, Y float64 }

const (
	width, height            = 720.0, 400.0
	left, right, top, bottom = 70.0, 180.0, 56.0, 62.0
)

// color returns the color of a line; color-blind readers can distinguish them.
func color(i int) string {
	all := []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}
	return all[i%len(all)]
}

// SVG draws the chart.
func (c Chart) SVG() []byte {
	d := &drawing{x: c.xAxis(), y: c.yAxis()}
	d.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222">`, f(width), f(height))
	d.add(`<title>%s</title>`, html.EscapeString(c.Title))
	d.add(`<rect width="100%%" height="100%%" fill="#fff"/>`)
	d.text(left, 22, "start", `font-size="15" font-weight="bold"`, c.Title)
	d.text(left, 40, "start", `fill="#666"`, c.Note)
	d.axes(c)
	if c.Bound > 0 {
		y := d.y.place(c.Bound)
		d.add(`<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="#888" stroke-dasharray="6 4"/>`, f(left), f(y), f(width-right), f(y))
		d.text(left+6, y-5, "start", `fill="#666"`, c.BoundName)
	}
	for i, l := range c.Lines {
		d.line(l, color(i))
	}
	d.legend(c)
	d.add(`</svg>`)
	return []byte(d.out.String())
}

func (c Chart) xAxis() axis {
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range c.Lines {
		for _, p := range l.Points {
			low, high = min(low, p.X), max(high, p.X)
		}
	}
	if math.IsInf(low, 1) {
		low, high = 1, 10
	}
	if c.LogX {
		return logarithmic(low, high, left, width-right)
	}
	return linear(high, left, width-right)
}

func (c Chart) yAxis() axis {
	high := c.Bound
	for _, l := range c.Lines {
		for _, p := range l.Points {
			high = max(high, p.Y)
		}
	}
	return linear(high, height-bottom, top)
}

// drawing collects elements.
type drawing struct {
	out  strings.Builder
	x, y axis
}

func (d *drawing) add(format string, values ...any) { fmt.Fprintf(&d.out, format+"\n", values...) }

func (d *drawing) text(x, y float64, anchor, style, text string) {
	if text != "" {
		d.add(`<text x="%s" y="%s" text-anchor="%s" %s>%s</text>`, f(x), f(y), anchor, style, html.EscapeString(text))
	}
}

func (d *drawing) axes(c Chart) {
	for _, tick := range d.y.ticks {
		y := d.y.place(tick)
		d.add(`<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="#e4e4e4"/>`, f(left), f(y), f(width-right), f(y))
		d.text(left-8, y+4, "end", "", label(tick))
	}
	base := height - bottom
	for _, tick := range d.x.ticks {
		x := d.x.place(tick)
		d.add(`<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="#888"/>`, f(x), f(base), f(x), f(base+5))
		d.text(x, base+20, "middle", "", label(tick))
	}
	d.add(`<path d="M%s %sV%sH%s" fill="none" stroke="#888"/>`, f(left), f(top), f(base), f(width-right))
	d.text((left+width-right)/2, height-16, "middle", "", c.XName)
	d.add(`<g transform="translate(18 %s) rotate(-90)">`, f((top+base)/2))
	d.text(0, 0, "middle", "", c.YName)
	d.add(`</g>`)
}

func (d *drawing) line(l Line, color string) {
	var path []string
	for _, p := range l.Points {
		path = append(path, f(d.x.place(p.X))+","+f(d.y.place(p.Y)))
	}
	if len(path) > 1 {
		d.add(`<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`, strings.Join(path, " "), color)
	}
	for _, p := range l.Points {
		d.add(`<circle cx="%s" cy="%s" r="3.5" fill="%s"><title>%s: %s at %s</title></circle>`, f(d.x.place(p.X)), f(d.y.place(p.Y)), color,
			html.EscapeString(l.Name), label(p.Y), label(p.X))
	}
}

func (d *drawing) legend(c Chart) {
	for i, l := range c.Lines {
		y := top + 6 + 20*float64(i)
		d.add(`<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="%s" stroke-width="3"/>`, f(width-right+16), f(y), f(width-right+36), f(y), color(i))
		d.text(width-right+42, y+4, "start", "", l.Name)
	}
}

// f formats a coordinate: a tenth of a unit is finer than is visible.
func f(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// label formats a number with separated thousands.
func label(v float64) string {
	text := strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
	if whole, rest, _ := strings.Cut(text, "."); len(whole) > 3 && rest == "" {
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
		return whole
	}
	return text
}
