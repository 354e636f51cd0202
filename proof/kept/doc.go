// Package kept has histories that an earlier version of Weft recorded, and the workflows that they
// belong to. They have to replay with the present version. Together they have every type of event
// of that version.
// README.md says how they were recorded.
package kept
