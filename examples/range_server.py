#!/usr/bin/env python3
"""Serves the files of a folder on this machine by ranges, for demo.sh. It answers like S3, for every bucket:
    python3 range_server.py FOLDER        prints its port"""
import http.server
import os
import re
import sys


class Ranges(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = os.path.join(sys.argv[1], os.path.basename(self.path))
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not found or not os.path.isfile(path):
            return self.send_error(404)
        size, (start, end) = os.path.getsize(path), found.groups()
        first = int(start) if start else max(size - int(end), 0)
        last = min(int(end), size - 1) if start and end else size - 1
        self.send_response(206)
        self.send_header("ETag", f'"{os.stat(path).st_mtime_ns}"')
        self.send_header("Last-Modified", self.date_time_string(int(os.path.getmtime(path))))
        self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        with open(path, "rb") as file:
            file.seek(first)
            self.wfile.write(file.read(last - first + 1))

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
print(server.server_address[1], flush=True)
server.serve_forever()
