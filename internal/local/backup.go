package local

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/seed-41655fb1/weft/internal/disk"
)

// BackupPath is the path at which the local server sends a backup of its data directory. It is not
// part of the API of a deployment.
const BackupPath = "/v1/backup"

// backup writes a backup of the data directory.
type backup func(context.Context, io.Writer) (disk.Summary, error)

// withBackup returns h with GET BackupPath added, or h itself if there is no data directory.
func withBackup(h http.Handler, b backup, log *slog.Logger) http.Handler {
	if b == nil {
		return h
	}
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("GET "+BackupPath, func(w http.ResponseWriter, r *http.Request) { sendBackup(w, r, b, log) })
	return mux
}

// sendBackup sends a backup. If it fails, it breaks the connection, so that the caller does not
// take a part for the whole. The end of the backup says so, too. A caller that reads nothing is cut
// off like any reader (progressListener): the backup keeps files of the data directory that could
// be deleted.
func sendBackup(w http.ResponseWriter, r *http.Request, b backup, log *slog.Logger) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	stop := context.AfterFunc(r.Context(), func() { _ = control.SetWriteDeadline(time.Now()) }) // a Write that waits ends
	defer stop()
	summary, err := b(r.Context(), w)
	if err != nil {
		log.Warn("a backup was broken off", "error", err)
		panic(http.ErrAbortHandler)
	}
	log.Info("a backup was sent", "values", summary.Values, "bytes", summary.Bytes, "damagedValues", summary.Damaged, "damagedRanges", len(summary.Ranges))
}
