package promql

import (
	"context"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// Memory stores series. It is a storage.Queryable.
type Memory struct{ series map[string]*series }

type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

// Append adds a sample to the series of these labels. Samples of a series must be in the order of their times.
func (m *Memory) Append(of labels.Labels, milliseconds int64, v float64) {
	if m.series == nil {
		m.series = map[string]*series{}
	}
	key := of.String()
	s := m.series[key]
	if s == nil {
		s = &series{labels: of}
		m.series[key] = s
	}
	s.samples = append(s.samples, sample{milliseconds, v})
}

// End ends a series: from this time on it has no value. Otherwise the last value would count for five more minutes.
func (m *Memory) End(of labels.Labels, milliseconds int64) {
	m.Append(of, milliseconds, math.Float64frombits(value.StaleNaN))
}

// Querier reads the samples between two times, both included.
func (m *Memory) Querier(from, to int64) (storage.Querier, error) { return querier{m, from, to}, nil }

type querier struct {
	memory   *Memory
	from, to int64
}

// Select returns the series that all matchers match.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &set{at: -1}
	for _, s := range q.memory.series {
		if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.labels.Get(m.Name)) }) {
			continue
		}
		samples := slices.DeleteFunc(slices.Clone(s.samples), func(c chunks.Sample) bool { return c.T() < q.from || c.T() > q.to })
		if len(samples) > 0 {
			found.all = append(found.all, storage.NewListSeries(s.labels, samples))
		}
	}
	slices.SortFunc(found.all, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return found
}

// LabelValues and LabelNames are not used by queries.
func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (querier) Close() error { return nil }

type set struct {
	all []storage.Series
	at  int
}

func (s *set) Next() bool                      { s.at++; return s.at < len(s.all) }
func (s *set) At() storage.Series              { return s.all[s.at] }
func (*set) Err() error                        { return nil }
func (*set) Warnings() annotations.Annotations { return nil }
func (s sample) T() int64                      { return s.at }
func (sample) ST() int64                       { return 0 }
func (s sample) F() float64                    { return s.v }
func (sample) H() *histogram.Histogram         { return nil }
func (sample) FH() *histogram.FloatHistogram   { return nil }
func (sample) Type() chunkenc.ValueType        { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// sample is a chunks.Sample that is a number.
type sample struct {
	at int64
	v  float64
}
