# The service in a container: docker build -t erukg . && docker run --read-only --tmpfs /tmp -p 127.0.0.1:8000:8000 erukg
FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src ./src
RUN python -m venv /opt/erukg && /opt/erukg/bin/pip install --no-cache-dir '.[serve,documents]'

FROM python:3.12-slim
COPY --from=build /opt/erukg /opt/erukg
ENV PATH=/opt/erukg/bin:/usr/local/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 NUMBA_CACHE_DIR=/opt/erukg/kernels
# Compiles what the first request would wait for. It is compiled for the processor of this machine; on another kind the
# first start compiles once more, into /tmp.
RUN python -c "from erukg import KeyphraseGenerator as K; g = K.from_pretrained(); g.generate('A warm engine'); g.rank('A warm engine', ['engine'])"
USER 65534:65534
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["erukg", "serve", "--host", "0.0.0.0"]
