FROM python:3.11-slim

RUN useradd --create-home --uid 10001 metajudge && install -d -o metajudge /data
WORKDIR /app
COPY pyproject.toml README.md LICENSE ./
COPY metajudge metajudge
COPY api api
COPY benchmarks benchmarks
COPY rubrics rubrics
RUN pip install --no-cache-dir '.[api]'

USER metajudge
WORKDIR /home/metajudge
ENV METAJUDGE_STORE=/data/metajudge.duckdb
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=3s \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
# Listens beyond loopback, so METAJUDGE_API_KEY must be given: docker run -e METAJUDGE_API_KEY=... -p 8080:8080 metajudge
CMD ["metajudge", "serve", "--host", "0.0.0.0", "--port", "8080"]
