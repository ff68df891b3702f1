package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"net/url"
	"time"
)

// document is the part of SPDX 2.3 that an SBOM here has. The linker has written its content into the program: each module and its
// version. Licenses are not known there.
type document struct {
	SPDXVersion   string         `json:"spdxVersion"`
	DataLicense   string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	CreationInfo  creationInfo   `json:"creationInfo"`
	Packages      []component    `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creationInfo struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type component struct {
	ID               string      `json:"SPDXID"`
	Name             string      `json:"name"`
	Version          string      `json:"versionInfo"`
	DownloadLocation string      `json:"downloadLocation"`
	FilesAnalyzed    bool        `json:"filesAnalyzed"`
	References       []reference `json:"externalRefs"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// sbom returns the document of an image. Its namespace contains the digest of the image.
func (p platformImage) sbom(o options) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(p.program))
	if err != nil {
		return nil, err
	}
	digest, err := p.Digest()
	if err != nil {
		return nil, err
	}
	d := document{SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: "stoic " + o.version + " linux/" + p.architecture,
		Namespace:    "https://spdx.org/spdxdocs/stoic-" + digest.Algorithm + "-" + digest.Hex,
		CreationInfo: creationInfo{Created: o.created.Format(time.RFC3339), Creators: []string{"Tool: stoic-tools-image"}}}
	image := d.add("oci", "stoic", digest.String())
	d.relate(d.ID, "DESCRIBES", image)
	program := d.add("golang", info.Main.Path, o.version)
	d.relate(image, "CONTAINS", program)
	d.relate(program, "DEPENDS_ON", d.add("golang", "stdlib", info.GoVersion[len("go"):]))
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		d.relate(program, "DEPENDS_ON", d.add("golang", module.Path, module.Version))
	}
	return json.MarshalIndent(d, "", "  ")
}

// add adds a package, with the locator by which vulnerability databases find it, and returns its ID.
func (d *document) add(kind, name, version string) string {
	id := fmt.Sprintf("SPDXRef-Package-%d", len(d.Packages))
	locator := "pkg:" + kind + "/" + name + "@" + url.QueryEscape(version)
	d.Packages = append(d.Packages, component{ID: id, Name: name, Version: version, DownloadLocation: "NOASSERTION",
		References: []reference{{Category: "PACKAGE-MANAGER", Type: "purl", Locator: locator}}})
	return id
}

func (d *document) relate(from, how, to string) {
	d.Relationships = append(d.Relationships, relationship{From: from, Type: how, To: to})
}
