"""The HTTP service behind `erukg serve`: keyphrases for requests, in one queue, with a limit on everything.

`create_app` is the service as an ASGI application; `run` binds a port and serves it in one or several processes.
"""

from erukg.errors import require

for _module in ("starlette", "uvicorn", "httptools", "python_multipart"):
    require(_module, "serve", "The service")
