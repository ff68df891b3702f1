// Package manifest answers one question: WHAT IS INSTALLED FOR A KIND OF SEVERAL VERSIONS?
//
//	CRD          the CRD of the stored version, with the other versions and the webhook
//	Certificate  a certificate for the webhook, for clusters in which nothing else makes one
package manifest
