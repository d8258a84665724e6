# The web service on CPUs. Publish its port on 127.0.0.1 only: it has no login.
FROM python:3.12-slim
WORKDIR /app
COPY pyproject.toml setup.py README.md LICENSE constraints.txt ./
COPY experiments experiments
COPY radreward radreward
# --build-arg PIP_EXTRA_INDEX_URL=URL: the index of PyTorch's builds for CPUs, which are smaller than those of the default index.
ARG PIP_EXTRA_INDEX_URL
RUN pip install --no-cache-dir --constraint constraints.txt ".[serve]"
RUN useradd --create-home radreward
USER radreward
WORKDIR /home/radreward
ENV HF_HUB_OFFLINE=1
EXPOSE 8000
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health')"]
CMD ["radreward", "serve", "--host", "0.0.0.0", "--port", "8000"]
