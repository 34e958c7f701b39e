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

/// How a service is asked. All zero but struct_size is the defaults. Strings are NUL-ended and copied; what
/// is NULL is looked up where the tools of the service do: environment, profile, web identity, the machine's
/// own metadata.
typedef struct zt_remote_options {
    /// sizeof (zt_remote_options)
    size_t struct_size;
    /// URL of the service where it is not the provider's own: MinIO, Ceph, an emulator.
    const char *endpoint;
    /// S3: the region of the bucket.
    const char *region;
    /// S3: the access key's id. Azure: the account.
    const char *key_id;
    /// S3: the secret access key. Azure: the account's key. Google: the key of a service account, as JSON.
    const char *secret;
    /// S3: the session's token. Google, Azure, HTTP: a bearer token.
    const char *token;
    /// What servers are told is asking; NULL for libztensor_remote and its version.
    const char *user_agent;
    /// Certificates of authorities, in PEM, that are trusted beside the system's: for servers of a network of
    /// one's own.
    const char *root_certificates;
    /// Milliseconds without a byte after which an attempt has failed; ten times that for all of it. 0:
    /// 30,000.
    uint32_t timeout_ms;
    /// Later attempts of a request that got 429 or 5xx, timed out or was cut. 0: 4; ZT_REMOTE_NO_RETRIES:
    /// none.
    uint32_t retries;
    /// Requests under way at once, for all parts of a model; at most 256. 0: 16.
    uint32_t concurrency;
    /// Bytes of an object's end that opening asks for, where a manifest is there. 0: 1 MiB.
    uint32_t tail;
    /// 1: the endpoint may be http://. A URL that begins with http:// says so by itself. A redirect from
    /// https:// to http:// is refused in any case, and one to another host or port takes no credentials
    /// along.
    uint32_t allow_http;
    /// 1: nothing is signed, and no credentials are looked for.
    uint32_t anonymous;
} zt_remote_options;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/// Opens a file or a model in a bucket or on a web server, as zt_open_model opens one on this system: a file,
/// an index (*.index.json) with the files that it names, one of several numbered files, a folder (its URL
/// ends in '/').
///
/// url: s3://bucket/key, gs://bucket/key, az://container/key, https://host/path, http://host/path; NUL-ended.
/// A query, as of a presigned URL, is sent and never shown. Folders of HTTP cannot be listed. A URL whose
/// host programs read differently is ZT_ERROR_INVALID_ARGUMENT: one with a backslash, a host that is not
/// ASCII, an address without all of its numbers, an '@', '/', '?' or '#' in a password that is not written as
/// %XX. options: NULL for the defaults. open_options, file: as zt_open_model.
/// Returns what zt_open_model returns: ZT_ERROR_NO_FILE where there is no such object, ZT_ERROR_IO where a
/// server fails or gives wrong bytes; zt_last_error says which. The file's reads ask that it is the object
/// that was opened: one that was replaced is ZT_ERROR_IO, never bytes of both.
/// Threads: any.
zt_status zt_remote_open(const char *url,
                         const struct zt_remote_options *options,
                         const zt_open_options *open_options,
                         zt_file **file);

/// One object as a zt_source, for zt_open_source or functions of your own. Asks for both of its ends, which
/// it keeps until it is closed.
///
/// url, options: as zt_remote_open. source: set struct_size; filled. zt_open_source takes it over; else call
/// its close. Statuses: as zt_remote_open.
/// Threads: any; those of source, too.
zt_status zt_remote_source(const char *url,
                           const struct zt_remote_options *options,
                           zt_source *source);

/// Another object of the service that a URL is of, with the credentials and the query of that URL: a shard, a
/// part.
///
/// url, options, source: as zt_remote_source. name: the object's URL as zt_remote_url_text shows it;
/// NUL-ended. Statuses: as zt_remote_open; ZT_ERROR_INVALID_ARGUMENT if name is of another service.
/// Threads: any; those of source, too.
zt_status zt_remote_source_beside(const char *url,
                                  const char *name,
                                  const struct zt_remote_options *options,
                                  zt_source *source);

/// The URL as messages show it: without user, password, query and fragment.
///
/// url: NUL-ended. text, size: as zt_value_to_json: receives it, NUL-ended, if there is room. needed: may be
/// NULL; receives the bytes that it takes with its NUL.
/// Returns ZT_ERROR_INVALID_ARGUMENT for what zt_remote_open refuses as such, ZT_ERROR_UNSUPPORTED for
/// another scheme, ZT_ERROR_BUFFER_SIZE if there is no room.
/// Threads: any.
zt_status zt_remote_url_text(const char *url,
                             char *text,
                             size_t size,
                             size_t *needed);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ZTENSOR_REMOTE_H */
