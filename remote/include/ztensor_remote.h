/*
 * ztensor_remote.h: models in S3, Google Cloud Storage, Azure and on web servers, for libztensor.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     zt_file *file;
 *     if (zt_remote_open("s3://models/model.zt", NULL, NULL, &file) != ZT_OK)
 *         fprintf(stderr, "%s\n", zt_last_error());
 *
 * A library of its own, libztensor_remote, on top of libztensor. What holds for every function of ztensor.h holds here,
 * but for three things: it reads the environment, for credentials; it has up to four threads named zt-remote, from the
 * first call on until the process ends (a child that was forked cannot use it); and where memory for its own small things
 * is short the process ends, as in most programs. Whatever a server sends has a bound.
 */


#ifndef ZTENSOR_REMOTE_H
#define ZTENSOR_REMOTE_H

/* Generated from remote/src/capi.rs by cbindgen; do not edit. */

#include "ztensor.h"

/// For zt_remote_options.retries.
#define ZT_REMOTE_NO_RETRIES 4294967295

/// How requests are sent. Zero is the default of all fields but struct_size. Strings are NUL-terminated and
/// copied. If a string is NULL, its value is looked up like the service's own tools do: environment, profile,
/// web identity, the machine's metadata.
typedef struct zt_remote_options {
    /// sizeof (zt_remote_options)
    size_t struct_size;
    /// URL of the service, if it is not the provider's: MinIO, Ceph, an emulator.
    const char *endpoint;
    /// S3: the region of the bucket.
    const char *region;
    /// S3: the access key's id. Azure: the account.
    const char *key_id;
    /// S3: the secret access key. Azure: the account's key. Google: the key of a service account, as JSON.
    const char *secret;
    /// S3: the session's token. Google, Azure, HTTP: a bearer token.
    const char *token;
    /// The user agent; NULL for libztensor_remote and its version.
    const char *user_agent;
    /// Certificates of authorities, in PEM, that are trusted in addition to the system's: for servers of a
    /// private network.
    const char *root_certificates;
    /// Milliseconds without a byte until an attempt fails; ten times that for the whole attempt. 0: 30,000.
    uint32_t timeout_ms;
    /// Retries of a request after 429 or 5xx, a timeout or a cut connection. 0: 4; ZT_REMOTE_NO_RETRIES:
    /// none.
    uint32_t retries;
    /// Concurrent requests, for all parts of a model; at most 256. 0: 16.
    uint32_t concurrency;
    /// Bytes that opening reads from an object's end, for formats with a manifest there. 0: 1 MiB.
    uint32_t tail;
    /// 1: the endpoint may be http://. A URL that begins with http:// needs no permission. A redirect from
    /// https:// to http:// is always rejected. A redirect to another host or port carries no credentials.
    uint32_t allow_http;
    /// 1: requests are not signed, and no credentials are looked up.
    uint32_t anonymous;
} zt_remote_options;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/// Opens a file or a model in a bucket or on a web server, like zt_open_model does on disk. The URL names a
/// file, an index (*.index.json), one of several numbered files, or a folder (it ends in '/').
///
/// url: s3://bucket/key, gs://bucket/key, az://container/key, https://host/path, http://host/path;
/// NUL-terminated. A query, as in a presigned URL, is sent and never shown. HTTP folders cannot be listed.
/// ZT_ERROR_INVALID_ARGUMENT for URLs that programs may read differently: with a backslash, a host that is
/// not ASCII, an address with missing numbers, an '@', '/', '?' or '#' in a password that is not written as
/// %XX. options: NULL for the defaults. open_options, file: as in zt_open_model. Returns the statuses of
/// zt_open_model. ZT_ERROR_NO_FILE if the object does not exist; ZT_ERROR_IO if a server fails or sends wrong
/// bytes; zt_last_error has the details. If the object was replaced after it was opened, reads return
/// ZT_ERROR_IO; they never mix old and new bytes. Threads: any.
zt_status zt_remote_open(const char *url,
                         const struct zt_remote_options *options,
                         const zt_open_options *open_options,
                         zt_file **file);

/// Makes a zt_source of one object, for zt_open_source or your own functions. It reads both ends of the
/// object and keeps them until it is closed.
///
/// url, options: as in zt_remote_open. source: set struct_size; filled. zt_open_source takes ownership;
/// otherwise call its close. Statuses: as zt_remote_open. Threads: any; those of source, too.
zt_status zt_remote_source(const char *url,
                           const struct zt_remote_options *options,
                           zt_source *source);

/// Like zt_remote_source, for another object of the same service, with the credentials and the query of url:
/// a shard, a part.
///
/// url, options, source: as in zt_remote_source. name: the object's URL as zt_remote_url_text shows it;
/// NUL-terminated. Statuses: as zt_remote_open; ZT_ERROR_INVALID_ARGUMENT if name belongs to another service.
/// Threads: any; those of source, too.
zt_status zt_remote_source_beside(const char *url,
                                  const char *name,
                                  const struct zt_remote_options *options,
                                  zt_source *source);

/// The URL as messages show it: without user, password, query and fragment.
///
/// url: NUL-terminated. text, size: as in zt_value_to_json: receives the text with its NUL. needed: may be
/// NULL; receives the bytes of the text with its NUL. ZT_ERROR_INVALID_ARGUMENT as in zt_remote_open,
/// ZT_ERROR_UNSUPPORTED for another scheme, ZT_ERROR_BUFFER_SIZE if size is too small. Threads: any.
zt_status zt_remote_url_text(const char *url,
                             char *text,
                             size_t size,
                             size_t *needed);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ZTENSOR_REMOTE_H */
