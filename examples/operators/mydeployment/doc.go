// Package mydeployment answers one question: HOW IS A SET OF PODS KEPT AND ROLLED OVER?
//
// A MyDeployment keeps a number of pods of one template. When the template changes, they are replaced step by step. There are
// never more pods, or fewer available ones, than its strategy allows. README.md has the rules as tables.
//
// +groupName=apps.example.com
// +versionName=v1
package mydeployment
