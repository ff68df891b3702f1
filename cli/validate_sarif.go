package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"stoic/cli/command"
	"stoic/schema"
	"stoic/schema/crd/check"
)

// The types below are the part of SARIF 2.1.0 that is written, under its names.

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	ColumnKind string                   `json:"columnKind"`
	Bases      map[string]sarifArtifact `json:"originalUriBaseIds"`
	Results    []sarifResult            `json:"results"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID            schema.Code `json:"id"`
	Short         sarifText   `json:"shortDescription"`
	Full          sarifText   `json:"fullDescription"`
	Help          sarifText   `json:"help"`
	Configuration struct {
		Level string `json:"level"`
	} `json:"defaultConfiguration"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	Rule         schema.Code       `json:"ruleId"`
	Index        int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      sarifText         `json:"message"`
	Locations    []sarifLocation   `json:"locations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn"`
	} `json:"region"`
}

type sarifArtifact struct {
	URI         string     `json:"uri,omitempty"`
	Base        string     `json:"uriBaseId,omitempty"`
	Description *sarifText `json:"description,omitempty"`
}

type sarifLogical struct {
	Name string `json:"name,omitempty"`
	Full string `json:"fullyQualifiedName"`
	Kind string `json:"kind"`
}

// sarif prints the report for services that collect findings of tools.
func (r *report) sarif(out io.Writer) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{},
		Bases: map[string]sarifArtifact{sourceRoot: {Description: &sarifText{"The folder in which the command ran."}}}}
	run.Tool.Driver = sarifDriver{Name: "stoic", Version: command.Version}
	codes := r.codes
	if codes == nil {
		codes = schema.Codes()
	}
	for _, code := range codes {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, ruleOf(code))
	}
	seen := map[string]int{}
	for _, f := range r.Results {
		run.Results = append(run.Results, resultOf(f, slices.Index(codes, f.Code), seen))
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(sarifLog{Schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0", Runs: []sarifRun{run}})
}

func ruleOf(code schema.Code) sarifRule {
	meaning, remedy, warning := code.Meaning(), code.Remedy(), code == schema.UnknownField || code == schema.MisplacedField
	if topic := check.TopicOf(code); topic != nil {
		meaning, remedy, warning = topic.Meaning, topic.Remedy, !topic.Error
	}
	rule := sarifRule{ID: code, Short: sarifText{meaning}, Full: sarifText{meaning + " " + remedy}, Help: sarifText{remedy}}
	rule.Configuration.Level = "error"
	if warning {
		rule.Configuration.Level = "warning"
	}
	return rule
}

// resultOf returns a finding as a SARIF result. Seen counts findings that would have the same fingerprint.
func resultOf(f finding, index int, seen map[string]int) sarifResult {
	result := sarifResult{Rule: f.Code, Index: index, Level: f.Severity, Message: sarifText{f.Message}}
	location := sarifLocation{}
	if f.File != "" {
		location.Physical = &sarifPhysical{Artifact: artifactOf(f.File)}
		location.Physical.Region.Line, location.Physical.Region.Column = f.Line, f.Column
	}
	object := ""
	if f.Object.Kind != "" {
		object = f.Object.ref()
	}
	if full := strings.Trim(object+"/"+f.Path, "/"); full != "" {
		location.Logical = []sarifLogical{{Name: f.Path, Full: full, Kind: "property"}}
	}
	if location.Physical != nil || location.Logical != nil {
		result.Locations = []sarifLocation{location}
	}
	// The fingerprint contains neither the line, which moves, nor the value, which may change and still be wrong. Consumers of
	// fingerprints compare files themselves; here files only separate the counts within one report.
	same := strings.Join([]string{string(f.Code), object, f.Path}, "\x00")
	seen[f.File+"\x00"+same]++
	sum := sha256.Sum256([]byte(same + "\x00" + strconv.Itoa(seen[f.File+"\x00"+same])))
	result.Fingerprints = map[string]string{"stoicProblem/v1": hex.EncodeToString(sum[:16])}
	return result
}

// sourceRoot is the base of relative names: the folder in which the command ran.
const sourceRoot = "%SRCROOT%"

// artifactOf names a file by URI: relative if it is below this folder, else absolute. Standard input has no URI.
func artifactOf(file string) sarifArtifact {
	if file == standardInput {
		return sarifArtifact{Description: &sarifText{"standard input"}}
	}
	here, err := filepath.Abs(".")
	if err != nil {
		return sarifArtifact{Description: &sarifText{schema.Clean(file, 400)}} // this folder is gone
	}
	whole := file
	if !filepath.IsAbs(whole) {
		whole = filepath.Join(here, file)
	}
	if relative, err := filepath.Rel(here, whole); err == nil && filepath.IsLocal(relative) {
		return sarifArtifact{URI: escapedPath(relative), Base: sourceRoot}
	}
	return sarifArtifact{URI: "file:///" + strings.TrimPrefix(escapedPath(filepath.Clean(whole)), "/")}
}

// escapedPath returns a path in the form that a URI requires. A colon could be read as the end of a scheme.
func escapedPath(path string) string {
	parts := strings.Split(filepath.ToSlash(path), "/")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(part), ":", "%3A")
	}
	return strings.Join(parts, "/")
}
