// Command image builds the image of the operator without a container engine.
//
//	go -C tools run ./image -out ../bin/image [-version V] [-source URL] [-push REF]
//
// It compiles the operator for amd64 and arm64, puts each program into a layer without a base image, and writes an index of the images as
// an OCI layout, its digest, and an SBOM in SPDX 2.3 for each platform. Two builds of one commit have one digest: the times in the image
// are those of the commit. docs/decisions/0013-image.md says why the project does not use ko.
package main
