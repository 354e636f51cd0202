package flow

// Between is the recorded form of the moments to backfill.
type Between = between
