package local

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/seed-41655fb1/weft/internal/disk"
)

// BackupPath is where the local server sends a backup of its data directory. It is no part of the API of a deployment.
const BackupPath = "/v1/backup"

// backupStall is how long a caller may take for one piece of a backup. A caller that takes longer is cut off: the backup keeps files of the
// data directory that could be deleted.
const backupStall = time.Minute

// backup writes a backup of the data directory.
type backup func(context.Context, io.Writer) (disk.Summary, error)

// withBackup returns h that also answers GET BackupPath; h itself if there is no data directory.
func withBackup(h http.Handler, b backup, log *slog.Logger) http.Handler {
	if b == nil {
		return h
	}
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("GET "+BackupPath, func(w http.ResponseWriter, r *http.Request) { sendBackup(w, r, b, log) })
	return mux
}

// sendBackup sends a backup. If it fails, it breaks the connection off, so that the caller does not take a part for the whole. The end of
// the backup says so, too.
func sendBackup(w http.ResponseWriter, r *http.Request, b backup, log *slog.Logger) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	stop := context.AfterFunc(r.Context(), func() { _ = control.SetWriteDeadline(time.Now()) }) // a Write that waits ends
	defer stop()
	summary, err := b(r.Context(), &patient{w, control})
	if err != nil {
		log.Warn("a backup was broken off", "error", err)
		panic(http.ErrAbortHandler)
	}
	log.Info("a backup was sent", "values", summary.Values, "bytes", summary.Bytes, "damagedValues", summary.Damaged, "damagedRanges", len(summary.Ranges))
}

// patient gives each Write time of its own, whatever time the server gives a whole response.
type patient struct {
	w       io.Writer
	control *http.ResponseController
}

// Write writes a piece of a backup.
func (p *patient) Write(data []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(backupStall)) // a test's recorder has none
	return p.w.Write(data)
}
