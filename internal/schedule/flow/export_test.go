package flow

// Between is what the moments to backfill are recorded as.
type Between = between
