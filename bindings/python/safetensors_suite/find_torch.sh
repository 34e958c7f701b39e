# Finds a Python with a PyTorch that has all types of safetensors: TORCH_PYTHON, or with ZT_FETCH=1 one that
# torch.sh makes in $out/torch. Source it with $here and $out set. It sets $python, which is empty if nothing
# was found, and $torch, a folder for PYTHONPATH.
python=${TORCH_PYTHON:-/usr/bin/python3} torch=
if ! "$python" -c "import torch, numpy; torch.float4_e2m1fn_x2" 2>/dev/null; then
    python=${PYTHON:-python3} torch=$out/torch/packages
    if [ "${ZT_FETCH-}" = 1 ]; then
        sh "$here/torch.sh" "$out/torch" || echo "torch.sh failed to install PyTorch" >&2
    fi
    LD_LIBRARY_PATH=$out/torch/cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
    PYTHONPATH=$torch "$python" -c "import torch, numpy; torch.float4_e2m1fn_x2" 2>/dev/null || python=
fi
