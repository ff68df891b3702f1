package main

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// document is the SBOM, an SPDX 2.3 document. The linker has written its content into the static Go program: each module, its version and
// its sum. Nothing is guessed; licenses are unknown there, and so are NOASSERTION.
type document struct {
	SPDXVersion   string         `json:"spdxVersion"`
	DataLicense   string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []component    `json:"packages"`
	Files         []file         `json:"files"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type component struct {
	ID               string      `json:"SPDXID"`
	Name             string      `json:"name"`
	Version          string      `json:"versionInfo"`
	Purpose          string      `json:"primaryPackagePurpose"`
	DownloadLocation string      `json:"downloadLocation"`
	FilesAnalyzed    bool        `json:"filesAnalyzed"`
	LicenseConcluded string      `json:"licenseConcluded"`
	LicenseDeclared  string      `json:"licenseDeclared"`
	Copyright        string      `json:"copyrightText"`
	Comment          string      `json:"comment,omitempty"`
	References       []reference `json:"externalRefs,omitempty"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type file struct {
	ID               string     `json:"SPDXID"`
	Name             string     `json:"fileName"`
	Checksums        []checksum `json:"checksums"`
	LicenseConcluded string     `json:"licenseConcluded"`
	Copyright        string     `json:"copyrightText"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

const (
	documentID = "SPDXRef-DOCUMENT"
	imageID    = "SPDXRef-Image"
	programID  = "SPDXRef-Program"
	fileID     = "SPDXRef-File-stoic"
	unknown    = "NOASSERTION"
)

// writeSBOMs writes one document per platform: programs of two platforms may contain different modules.
func (a *artifact) writeSBOMs(folder string, f facts) error {
	for i, p := range a.platforms {
		digest, err := a.images[i].Digest()
		if err != nil {
			return fmt.Errorf("compute the digest of the image for %s: %w", p.String(), err)
		}
		text, err := sbom(a.programs[i], digest, f, p)
		if err != nil {
			return fmt.Errorf("write the SBOM for %s: %w", p.String(), err)
		}
		if err := os.WriteFile(filepath.Join(folder, sbomFile(p)), text, 0o644); err != nil {
			return fmt.Errorf("write the SBOM for %s: %w", p.String(), err)
		}
	}
	return nil
}

func sbomFile(p v1.Platform) string {
	return "sbom-" + strings.ReplaceAll(p.String(), "/", "-") + ".spdx.json"
}

// sbom returns the document of one image. Its namespace contains the digest of the image, so documents of two images have two names.
func sbom(content []byte, digest v1.Hash, f facts, p v1.Platform) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("read what is in the program: %w", err)
	}
	d := document{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", ID: documentID, Name: "stoic " + f.Version + " " + p.String(),
		Namespace: "https://spdx.org/spdxdocs/stoic-" + digest.Algorithm + "-" + digest.Hex,
		Creation:  creation{Created: f.Created.Format(time.RFC3339), Creators: []string{"Tool: stoic-tools-image"}},
	}
	image := packaged(imageID, "stoic", f.Version, "CONTAINER")
	image.LicenseDeclared = f.labels()["org.opencontainers.image.licenses"]
	image.References = []reference{purl("oci", "stoic", digest.String(), "arch="+p.Architecture)}
	main := packaged(programID, info.Main.Path, f.Version, "APPLICATION")
	main.LicenseDeclared, main.Comment = image.LicenseDeclared, "commit "+f.Revision
	library := packaged("SPDXRef-stdlib", "stdlib", strings.TrimPrefix(info.GoVersion, "go"), "LIBRARY")
	library.References = []reference{purl("golang", "stdlib", library.Version, "")}
	d.Packages = []component{image, main, library}
	d.relate(documentID, "DESCRIBES", imageID)
	d.relate(imageID, "CONTAINS", programID)
	d.relate(imageID, "CONTAINS", fileID)
	d.relate(fileID, "GENERATED_FROM", programID)
	d.relate(programID, "DEPENDS_ON", library.ID)
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		c := packaged("SPDXRef-Module-"+notInID.ReplaceAllString(module.Path+"-"+module.Version, "-"), module.Path, module.Version, "LIBRARY")
		c.References = []reference{purl("golang", module.Path, module.Version, "")}
		if module.Sum != "" {
			c.Comment = "go.sum " + module.Sum
		}
		d.Packages = append(d.Packages, c)
		d.relate(programID, "DEPENDS_ON", c.ID)
	}
	one, two := sha1.Sum(content), sha256.Sum256(content)
	d.Files = []file{{ID: fileID, Name: "./" + program, LicenseConcluded: unknown, Copyright: unknown,
		Checksums: []checksum{{"SHA1", hex.EncodeToString(one[:])}, {"SHA256", hex.EncodeToString(two[:])}}}}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the document: %w", err)
	}
	return append(text, '\n'), nil
}

// notInID matches the characters that an SPDX identifier must not have.
var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]`)

func packaged(id, name, version, purpose string) component {
	return component{ID: id, Name: name, Version: version, Purpose: purpose, DownloadLocation: unknown,
		LicenseConcluded: unknown, LicenseDeclared: unknown, Copyright: unknown}
}

// purl returns the name of a package by which vulnerability databases find it.
func purl(kind, path, version, qualifiers string) reference {
	locator := "pkg:" + kind + "/" + path + "@" + url.QueryEscape(version)
	if qualifiers != "" {
		locator += "?" + qualifiers
	}
	return reference{"PACKAGE-MANAGER", "purl", locator}
}

func (d *document) relate(from, how, to string) {
	d.Relationships = append(d.Relationships, relationship{from, how, to})
}
